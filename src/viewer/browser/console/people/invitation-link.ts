import { h } from "../../dom.js";
import { confirmed } from "../confirmed.js";
import { dayOf, type Invitation, invitationAddress } from "../invitation-address.js";
import { copyLines } from "./copy-lines.js";
import type { Member } from "./effective.js";
import type { Frame, View } from "./frame.js";

/** Links by which people choose their passwords. Each is shown once. */

interface LinkOptions {
  readonly back: () => View;
  /** Whether the person was added just now. */
  readonly isNew?: boolean;
}

/** Makes a link and shows it, or what is in the way. */
export async function makeLink(frame: Frame, member: Member, options: LinkOptions): Promise<void> {
  let made: Invitation | undefined;
  await frame.work(async () => {
    made = await frame.store.invite(member);
  });
  if (made) frame.go(linkView(frame, member, made, options));
}

/** The same for who may have a password already, which ends by it. */
export async function makeNewLink(frame: Frame, member: Member, back: () => View): Promise<void> {
  const { t, parts } = frame;
  const name = member.login;
  const texts = {
    title: t("newLinkTitle", { name }),
    text: t("newLinkText", { name }),
    action: t("newLink"),
  };
  if (await confirmed(parts, texts)) await makeLink(frame, member, { back });
}

function linkView(
  frame: Frame,
  { login: name }: Member,
  invitation: Invitation,
  { back, isNew = false }: LinkOptions,
): View {
  const { t, store, parts } = frame;
  const date = dayOf(parts.locale, invitation.expires);
  const text = invitationAddress(store.of.project.code, invitation);
  const shown = [
    ...(isNew ? [h("p", {}, t("personAdded", { name }))] : []),
    h("p", {}, t("linkMade", { name, date })),
    copyLines(frame, { text, label: t("linkFor", { name }), rows: 3 }),
  ];
  return { tab: "people", title: t("linkFor", { name }), back, render: () => shown };
}
