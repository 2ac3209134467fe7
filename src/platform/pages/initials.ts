import { clientInitials } from '../text.ts';
import { type Html, html } from './html.ts';
import type { View } from './view.ts';

/** Where uploaded pictures are, followed by their ids. */
export const picturesPath = '/pictures';

/** Where the pictures of apps are, followed by their ids. */
export const logosPath = '/logos';

type Shown = { readonly name: string | null; readonly email: string; readonly picture: string | null };

/**
 * The path of the picture that a user has uploaded. One at another service is not shown, whatever its path looks like: our
 * pages load nothing from other hosts.
 */
export function pictureOf(baseUrl: string, { picture }: Pick<Shown, 'picture'>): string | undefined {
  const prefix = `${baseUrl}${picturesPath}/`;
  const id = picture?.startsWith(prefix) ? picture.slice(prefix.length) : '';
  return /^pic_[\w-]{22}$/.test(id) ? `${picturesPath}/${id}` : undefined;
}

/** The picture of a user, or their initials. Beside their name, it says nothing more. */
export function personAvatar({ baseUrl }: Pick<View, 'baseUrl'>, user: Shown, size: 'small' | 'large' = 'large'): Html {
  const path = pictureOf(baseUrl, user);
  const classes = size === 'small' ? 'initials small' : 'initials';
  return path === undefined
    ? html`<span class="${classes}" aria-hidden="true">${personInitials(user)}</span>`
    : html`<img class="${classes}" src="${path}" alt="" width="56" height="56">`;
}

/** The first letters of the first and the last word of a name: "AL" for Ada King Lovelace. */
export function personInitials({ name, email }: { readonly name: string | null; readonly email: string }): string {
  const words = (name ?? email).split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  const last = name !== null && words.length > 1 ? words.at(-1) : '';
  return [words[0], last]
    .map((word) => [...(word ?? '')][0] ?? '')
    .join('')
    .toUpperCase();
}

/** What stands before the name of an app, of which it says nothing more. @param logo the path of its picture; undefined: its first letters. */
export const appMark = (name: string, logo: string | undefined, size: 'small' | 'large' = 'large'): Html =>
  logo === undefined
    ? html`<span class="${size === 'small' ? 'initials small' : 'initials'}" aria-hidden="true">${clientInitials(name)}</span>`
    : appLogo(logo, size);

export const appLogo = (path: string, size: 'small' | 'large' = 'large'): Html => {
  const side = size === 'small' ? 32 : 56;
  return html`<img class="${size === 'small' ? 'app-logo small' : 'app-logo'}" src="${path}" alt="" width="${side}" height="${side}">`;
};
