import { button, h, icon } from "./dom.js";
import type { Translate } from "./texts.js";

/** Pictures over the whole page, one at a time. */

export interface PictureEntry {
  readonly name: string;
  /** For a box of that many pixels of the page. @throws when it can not be loaded */
  address(width: number, height: number): Promise<string>;
  download(): void;
}

/** What the style sheet leaves free around a picture. */
const marginsPixels = { across: 24, down: 68 };

/** Shows a picture; the others are reached by buttons and arrow keys. */
export function showLightbox(pictures: readonly PictureEntry[], first: number, t: Translate): void {
  let at = first;
  const image = h("img", { class: "lightbox-image", alt: "" });
  const place = h("p", { class: "lightbox-place", "aria-live": "polite" });
  const problem = h("p", { class: "lightbox-problem", role: "alert", hidden: true }, t("pictureFailed"));
  const labelled = (name: string) => ({
    class: "icon-button lightbox-button",
    "aria-label": name,
    title: name,
  });
  const turn = (step: number) => {
    at = (at + step + pictures.length) % pictures.length;
    void show();
  };
  const show = async () => {
    const shown = at;
    const picture = pictures[shown]!;
    problem.hidden = true;
    image.removeAttribute("src");
    image.alt = picture.name;
    place.textContent =
      pictures.length > 1 ? `${picture.name} · ${shown + 1} / ${pictures.length}` : picture.name;
    try {
      const address = await picture.address(
        window.innerWidth - marginsPixels.across,
        window.innerHeight - marginsPixels.down,
      );
      if (shown === at) image.src = address;
    } catch {
      if (shown === at) problem.hidden = false;
    }
  };
  image.addEventListener("error", () => {
    problem.hidden = false;
  });
  const several = pictures.length > 1;
  const dialog = h(
    "dialog",
    { class: "lightbox", "aria-label": t("pictures") },
    h(
      "div",
      { class: "lightbox-header" },
      place,
      button(labelled(t("download")), () => pictures[at]!.download(), icon("download")),
      button(labelled(t("close")), () => dialog.close(), icon("close")),
    ),
    image,
    problem,
    several &&
      button(
        { ...labelled(t("previousPicture")), class: "icon-button lightbox-button before" },
        () => turn(-1),
        icon("back"),
      ),
    several &&
      button(
        { ...labelled(t("nextPicture")), class: "icon-button lightbox-button after" },
        () => turn(1),
        icon("chevron"),
      ),
  );
  dialog.addEventListener("keydown", (event) => {
    if (!several || (event.key !== "ArrowLeft" && event.key !== "ArrowRight")) return;
    event.preventDefault();
    turn(event.key === "ArrowLeft" ? -1 : 1);
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  void show();
}
