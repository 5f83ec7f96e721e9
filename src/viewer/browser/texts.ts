/** All texts of the viewer, by language. */

const english = {
  viewerTitle: "Map viewer",
  maps: "Maps",
  chooseMap: "Choose a map",
  findMap: "Find a map",
  noMapsFound: "No map has that name.",
  privateMap: "Private",
  layers: "Layers",
  layersOn: "{on} of {all} on",
  resetLayers: "Reset",
  resetLayersHint: "Back to the layers that this map shows at first",
  noLayers: "This map has no layers yet.",
  expand: "Expand {name}",
  collapse: "Collapse {name}",
  zoomToLayer: "Zoom to {name}",
  baseMap: "Base map",
  baseMapHint: "Land, water and borders",
  showPanel: "Show layers",
  hidePanel: "Hide layers",
  panel: "Map and layers",
  share: "Share",
  linkCopied: "Link copied",
  copyLink: "Copy this link",
  zoomIn: "Zoom in",
  zoomOut: "Zoom out",
  locate: "Show where I am",
  locating: "Looking for your position…",
  locateDenied: "The browser is not allowed to share your position.",
  locateFailed: "Your position could not be found.",
  fullScreen: "Full screen",
  leaveFullScreen: "Leave full screen",
  wholeMap: "Show the whole map",
  signIn: "Sign in",
  signOut: "Sign out",
  signedInAs: "Signed in as {login}",
  signedOut: "You are signed out.",
  sessionEnded: "Your session has ended. Sign in again to see private maps.",
  signInHint: "See the maps that are open to you.",
  project: "Project",
  login: "Login",
  password: "Password",
  showPassword: "Show the password",
  hidePassword: "Hide the password",
  wrongPassword: "The login or the password is wrong.",
  fillIn: "Fill in all fields.",
  unknownProject: "There is no such project.",
  close: "Close",
  language: "Language",
  objectDetails: "Object",
  objectsHere: { one: "{n} object here", other: "{n} objects here" },
  moreObjects: "Zoom in to see the others.",
  nothingHere: "Nothing here",
  backToList: "Back to the list",
  zoomToObject: "Zoom to object",
  copyCoordinates: "Copy the coordinates",
  coordinatesCopied: "Coordinates copied",
  noAttributes: "This object has no attributes.",
  objectNumber: "Object {id}",
  yes: "Yes",
  no: "No",
  empty: "empty",
  files: { one: "{n} file", other: "{n} files" },
  loadingMap: "Loading the map…",
  failedTitle: "The map could not be loaded",
  failedOffline: "The server cannot be reached. Check the connection and try again.",
  failedServer: "The server could not answer. Try again in a moment.",
  busyServer: "The server is busy. Try again in a moment.",
  retry: "Try again",
  unknownTitle: "There is no such map",
  unknownHint: "It may have been renamed or removed.",
  privateTitle: "This map is private",
  privateHint: "Sign in with an account that may see it.",
  forbiddenHint: "Your account may not see it.",
  emptyTitle: "No maps yet",
  emptyHint: "Maps appear here as soon as they are published.",
  tilesFailed: "Parts of the map could not be loaded.",
  queryFailed: "The objects could not be loaded.",
  mapLabel: "Map. Arrow keys move it, plus and minus zoom, Enter shows what is in the middle.",
  attributionBase: "Base map: Natural Earth",
};

type Texts = { readonly [Key in keyof typeof english]: Text };
type Text = string | Readonly<Partial<Record<Intl.LDMLPluralRule, string>> & { other: string }>;
export type TextKey = keyof typeof english;

const russian: Texts = {
  viewerTitle: "Просмотр карт",
  maps: "Карты",
  chooseMap: "Выбрать карту",
  findMap: "Найти карту",
  noMapsFound: "Карты с таким названием нет.",
  privateMap: "Закрытая",
  layers: "Слои",
  layersOn: "Включено {on} из {all}",
  resetLayers: "Сбросить",
  resetLayersHint: "Вернуть слои, которые карта показывает вначале",
  noLayers: "На этой карте пока нет слоёв.",
  expand: "Развернуть: {name}",
  collapse: "Свернуть: {name}",
  zoomToLayer: "Показать целиком: {name}",
  baseMap: "Базовая карта",
  baseMapHint: "Суша, вода и границы",
  showPanel: "Показать слои",
  hidePanel: "Скрыть слои",
  panel: "Карта и слои",
  share: "Поделиться",
  linkCopied: "Ссылка скопирована",
  copyLink: "Скопируйте ссылку",
  zoomIn: "Приблизить",
  zoomOut: "Отдалить",
  locate: "Показать, где я",
  locating: "Определяем ваше местоположение…",
  locateDenied: "Браузеру не разрешено сообщать ваше местоположение.",
  locateFailed: "Не удалось определить ваше местоположение.",
  fullScreen: "Во весь экран",
  leaveFullScreen: "Выйти из полноэкранного режима",
  wholeMap: "Показать всю карту",
  signIn: "Войти",
  signOut: "Выйти",
  signedInAs: "Вы вошли как {login}",
  signedOut: "Вы вышли.",
  sessionEnded: "Сеанс завершён. Войдите снова, чтобы видеть закрытые карты.",
  signInHint: "Откроются карты, доступные вам.",
  project: "Проект",
  login: "Логин",
  password: "Пароль",
  showPassword: "Показать пароль",
  hidePassword: "Скрыть пароль",
  wrongPassword: "Неверный логин или пароль.",
  fillIn: "Заполните все поля.",
  unknownProject: "Такого проекта нет.",
  close: "Закрыть",
  language: "Язык",
  objectDetails: "Объект",
  objectsHere: {
    one: "Здесь {n} объект",
    few: "Здесь {n} объекта",
    many: "Здесь {n} объектов",
    other: "Здесь {n} объекта",
  },
  moreObjects: "Приблизьте карту, чтобы увидеть остальные.",
  nothingHere: "Здесь ничего нет",
  backToList: "Назад к списку",
  zoomToObject: "Показать объект целиком",
  copyCoordinates: "Скопировать координаты",
  coordinatesCopied: "Координаты скопированы",
  noAttributes: "У этого объекта нет атрибутов.",
  objectNumber: "Объект {id}",
  yes: "Да",
  no: "Нет",
  empty: "пусто",
  files: { one: "{n} файл", few: "{n} файла", many: "{n} файлов", other: "{n} файла" },
  loadingMap: "Загружаем карту…",
  failedTitle: "Не удалось загрузить карту",
  failedOffline: "Сервер недоступен. Проверьте соединение и попробуйте ещё раз.",
  failedServer: "Сервер не смог ответить. Попробуйте чуть позже.",
  busyServer: "Сервер занят. Попробуйте чуть позже.",
  retry: "Повторить",
  unknownTitle: "Такой карты нет",
  unknownHint: "Возможно, её переименовали или удалили.",
  privateTitle: "Это закрытая карта",
  privateHint: "Войдите под учётной записью, которой она доступна.",
  forbiddenHint: "Вашей учётной записи она недоступна.",
  emptyTitle: "Карт пока нет",
  emptyHint: "Карты появятся здесь, как только их опубликуют.",
  tilesFailed: "Не удалось загрузить части карты.",
  queryFailed: "Не удалось загрузить объекты.",
  mapLabel: "Карта. Стрелки двигают её, плюс и минус меняют масштаб, Enter показывает, что в середине.",
  attributionBase: "Базовая карта: Natural Earth",
};

const dictionaries = { en: english as Texts, ru: russian } as const;
export type Language = keyof typeof dictionaries;
export const languages = Object.keys(dictionaries) as Language[];

const storageKey = "mapwright.language";

/** The language that the user chose, else the first supported language of the browser, else English. */
export function chooseLanguage(): Language {
  const known = (tag: string | null): Language | undefined =>
    languages.find((language) => tag?.toLowerCase().split("-")[0] === language);
  let chosen: string | null = null;
  try {
    chosen = localStorage.getItem(storageKey);
  } catch {
    // Storage is disabled: use the browser's languages.
  }
  return known(chosen) ?? navigator.languages.map(known).find((language) => language !== undefined) ?? "en";
}

export function rememberLanguage(language: Language): void {
  try {
    localStorage.setItem(storageKey, language);
  } catch {
    // Without storage the choice is lost.
  }
}

export type Translate = (key: TextKey, values?: Readonly<Record<string, string | number>>) => string;

/** Translates keys to a language; `{name}` is replaced by the value of that name, and `n` selects the plural form. */
export function translator(language: Language): Translate {
  const plurals = new Intl.PluralRules(language);
  return (key, values = {}) => {
    const entry: Text = dictionaries[language][key];
    const text = typeof entry === "string" ? entry : (entry[plurals.select(Number(values.n))] ?? entry.other);
    return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
  };
}
