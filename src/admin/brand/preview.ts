import { attributesOfSignUp } from '../../attributes/values.ts';
import { newAccountPage, requestPage } from '../../authentication/account-links/pages.ts';
import { allConfirmationMethods } from '../../authentication/credentials/sign-in-methods.ts';
import { signInPage } from '../../authentication/sign-in/page.ts';
import { colours } from '../../brand/brand-rules.ts';
import { consentPage } from '../../oauth/authorize/consent-page.ts';
import type { Deps } from '../../oauth/deps.ts';
import { now } from '../../platform/clock.ts';
import { serverError } from '../../platform/errors.ts';
import { numberFormat } from '../../platform/i18n/formats.ts';
import type { Locale } from '../../platform/i18n/translate.ts';
import { withOwnLogo } from '../../platform/mail/brand.ts';
import { exampleMail } from '../../platform/mail/examples.ts';
import type { BrandVersion } from '../../platform/pages/brand.ts';
import { buttonOf, linkOn } from '../../platform/pages/brand-style.ts';
import type { Look } from '../../platform/pages/branding.ts';
import { backgrounds, contrast, inkOn, isLight, type Scheme } from '../../platform/pages/colours.ts';
import { errorPage } from '../../platform/pages/errors.ts';
import { Html } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import { type Framed, type PreviewScheme, previewOfMail, previewOfPage } from '../../platform/pages/preview.ts';
import { type View, viewIn } from '../../platform/pages/view.ts';

/** What a preview shows, with invented people in it. */
export const subjects = ['sign_in', 'sign_up', 'new_account', 'consent', 'error', 'mail'] as const;
export const schemes = ['browser', 'light', 'dark'] as const satisfies readonly PreviewScheme[];
/** Pixels; the widest that fits, if none is said. */
export const widths = ['desktop', '390', '320'] as const;

export type Chosen = {
  readonly subject: (typeof subjects)[number];
  readonly scheme: PreviewScheme;
  readonly language: Locale;
};

/** What is not given, or is nothing that can be chosen, is the first that can. */
export function chosenIn(view: View, given: Readonly<Record<string, string | undefined>>): Chosen {
  const languages = [view.locale, ...view.languagesOfMail];
  return {
    subject: subjects.find((one) => one === given.subject) ?? subjects[0],
    scheme: schemes.find((one) => one === given.scheme) ?? schemes[0],
    language: languages.find((one) => one === given.language) ?? view.locale,
  };
}

/** Draws what people would see with a version, whether it is stored or not. @param view of the administrator. */
export async function previewOf(deps: Deps, view: View, version: BrandVersion, chosen: Chosen): Promise<Framed> {
  const { subject, scheme, language } = chosen;
  const look = await deps.branding.lookOf(version);
  const facts = { ...factsOf(view, look), ...shownColours(look) };
  if (subject === 'mail') {
    const config = { ...deps.config, brand: look.brand, support: look.support };
    const mail = exampleMail(
      { config, clock: deps.clock },
      'reset',
      language,
      scheme === 'browser' ? undefined : scheme,
    );
    return previewOfMail(withOwnLogo(mail.html, config), facts);
  }
  const shown = viewIn(deps, look, {
    ...{ locale: language, region: language, languages: deps.config.languages, query: '', may: () => false },
  });
  return previewOfPage(shown, await pageOf(deps, shown, subject), scheme, facts);
}

const sampleApp = 'Field Notes';
const sampleEmail = 'ada@example.com';

function pageOf(deps: Deps, view: View, subject: Exclude<Chosen['subject'], 'mail'>): Page | Promise<Page> {
  switch (subject) {
    case 'sign_in':
      return signInOf(deps, view);
    case 'sign_up':
      return requestPage(view, 'signup', { clientName: sampleApp });
    case 'new_account':
      return newAccountOf(deps, view);
    case 'consent':
      return consentOf(deps, view);
    case 'error':
      return errorPage(view, serverError(), { url: '/signin', at: now(deps), id: 'req-1a2b' });
  }
}

async function signInOf(deps: Deps, view: View): Promise<Page> {
  const { config, mail } = deps;
  const page = signInPage(view, {
    ...{ request_id: undefined, next: undefined, stay: false, isRequired: false, clientName: sampleApp },
    ...(await allConfirmationMethods(deps)),
    offersSignUp: config.signUp && mail.works,
    offersReset: mail.works,
    offersMailCode: config.mailCodes && mail.works,
  });
  // As the script shows it, which does not run here.
  return { ...page, content: Html.trusted(page.content.toString().replace('data-autofill hidden', 'data-autofill')) };
}

async function newAccountOf({ attributes }: Deps, view: View): Promise<Page> {
  return newAccountPage(view, {
    ...{ flow: 'signup', token: 'example', email: sampleEmail, clientName: sampleApp },
    attributes: attributesOfSignUp(await attributes.read()),
  });
}

async function consentOf({ apis, attributes, scopes }: Deps, view: View): Promise<Page> {
  const user = { user_id: 'usr_example', email: sampleEmail };
  return consentPage(
    view,
    {
      request_id: 'example',
      parameters: { redirect_uri: 'https://notes.example.com/callback', scope: 'openid profile email offline_access' },
    },
    {
      client: { name: sampleApp, status: 'approved', logo_id: null },
      registeredBy: { domain: 'example.com' },
      user,
      scopes: await scopes.read(),
      apiRegister: await apis.read(),
      shared: {
        values: { name: 'Ada Lovelace', email: user.email, email_verified: true },
        attributes: await attributes.read(),
      },
    },
  );
}

/** What becomes of a colour, by the field that it is typed in. */
export function factsOf(view: View, look: Look) {
  const ratio = (one: string, other: string) =>
    numberFormat(view.locale, { maximumFractionDigits: 1 }).format(Math.floor(contrast(one, other) * 10) / 10);
  const ink = (colour: string) => (isLight(colour) ? ('light' as const) : ('dark' as const));
  const button = (scheme: Scheme) => {
    const made = buttonOf(look, scheme);
    const values = { colour: made.button, ratio: ratio(made.ink, made.button), ink: ink(made.ink) };
    return view.plain('admin.brand.fact.button', values);
  };
  const link = (scheme: Scheme) => {
    const { accent } = linkOn(look, scheme);
    const behind = scheme === 'light' ? backgrounds.light.page : backgrounds.dark.card;
    return view.plain('admin.brand.fact.link', { colour: accent, ratio: ratio(accent, behind) });
  };
  const background = (colour: string | null) => {
    if (colour === null) return view.plain('admin.brand.fact.built_in');
    const text = inkOn(colour);
    return view.plain('admin.brand.fact.background', { ratio: ratio(text, colour), ink: ink(text) });
  };
  return {
    button: button('light'),
    button_dark: button('dark'),
    link: link('light'),
    link_dark: link('dark'),
    background: background(look.background),
    background_dark: background(look.background_dark),
  };
}

const shownColours = (look: Look): Readonly<Record<string, string>> =>
  Object.fromEntries(colours.map((field) => [`${field}:shown`, shownColour(look, field)]));

/** The colour that is shown for a field, whether it was said or follows from others. */
export function shownColour(look: Look, field: keyof ReturnType<typeof factsOf>): string {
  if (field === 'background') return look.background ?? backgrounds.light.page;
  if (field === 'background_dark') return look.background_dark ?? backgrounds.dark.page;
  if (field === 'button_dark') return buttonOf(look, 'dark').button;
  return field === 'link_dark' ? linkOn(look, 'dark').accent : look[field];
}
