import { directionOf, type Locale } from '../i18n/translate.ts';
import { type Html, html, type Renderable } from '../pages/html.ts';
import { supportLink } from '../support.ts';
import { logoId, type MailBrand } from './brand.ts';
import { isLink, type MailPart, type Piece } from './parts.ts';

/** Of a preview; a mail that is sent follows the reader's own. */
export type Scheme = 'light' | 'dark';

/** A mail, ready to be set. All texts are in its language. */
export type HtmlMail = {
  readonly locale: Locale;
  readonly subject: string;
  /** What lists of mails show beside the subject. */
  readonly summary: string;
  readonly parts: readonly MailPart[];
  /** What happened where and when: names and values. */
  readonly facts: readonly (readonly [string, string])[];
  /** What the button says, and what stands above the same link below it. */
  readonly button: string;
  readonly link: string;
  /** Paragraphs. */
  readonly footer: readonly (readonly Piece[])[];
};

/** Rounded and unbroken where a program can; the rest is plain. */
function stylesFor({ locale }: HtmlMail, { light, logo }: MailBrand) {
  const { paper, card, text, soft, line, button, ink, edge, link } = light;
  const [start, end] = directionOf(locale) === 'rtl' ? ['right', 'left'] : ['left', 'right'];
  const fonts = "system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',sans-serif";
  const breaks = 'overflow-wrap:break-word;word-break:break-word';
  return {
    body: `margin:0;padding:0;background:${paper}`,
    hidden: 'display:none;max-height:0;overflow:hidden',
    paper: `background:${paper};color:${text};font-family:${fonts};font-size:16px;line-height:24px`,
    margin: 'padding:24px 12px',
    column: `max-width:560px;table-layout:fixed;text-align:${start}`,
    brand: `padding:${logo ? '0 2px 10px' : '0 8px 16px'};color:${text};font-size:18px;font-weight:600`,
    // In the dark, a logo may be as dark as what is behind it: it brings its own ground, which is not to be seen on light paper. Where a program
    // takes light backgrounds away (Thunderbird does), the border and the shadow are left; the shadow is below the picture.
    logo: `background:${paper};border:6px solid ${paper};border-radius:8px;box-shadow:inset 0 0 0 220px ${paper};vertical-align:middle`,
    card: `padding:28px 24px;background:${card};border:1px solid ${line};border-radius:12px;color:${text};${breaks}`,
    heading: `margin:0 0 20px;color:${text};font-size:22px;line-height:30px;font-weight:600`,
    paragraph: 'margin:0 0 16px',
    quote: `margin:0 0 16px;padding:4px 16px;color:${text};border:0 solid ${line};border-${start}-width:4px`,
    code: `margin:0 0 16px;padding:12px 16px;border:1px solid ${line};border-radius:8px;text-align:center;font:28px/36px ui-monospace,Menlo,Consolas,monospace;letter-spacing:4px`,
    buttonTable: 'margin:4px 0 16px',
    buttonCell: `background:${button};border:1px solid ${edge};border-radius:8px;mso-padding-alt:12px 24px`,
    button: `display:inline-block;padding:12px 24px;background:${button};border-radius:8px;color:${ink};font-weight:600;text-decoration:none`,
    buttonLink: `margin:0 0 20px;color:${soft};font-size:13px;line-height:20px`,
    link: `color:${link};text-decoration:underline;word-break:break-word;overflow-wrap:anywhere`,
    facts: `margin:8px 0 0;border:0 solid ${line};border-top-width:1px;font-size:14px;line-height:20px;text-align:${start}`,
    factName: `padding:12px 0 0;padding-${end}:16px;color:${soft};font-weight:400;width:1%;white-space:nowrap;text-align:${start}`,
    fact: 'padding:12px 0 0;word-break:break-word',
    end: `padding:16px 8px 0;color:${soft};font-size:13px;line-height:20px;${breaks}`,
    endParagraph: 'margin:0 0 8px',
  };
}

type Styles = ReturnType<typeof stylesFor>;

const layoutTable = html`role="presentation" cellpadding="0" cellspacing="0" border="0"`;

/**
 * What mail programs show of HTML: tables and styles in the elements, since many drop a stylesheet, and a stylesheet for the dark scheme,
 * which is for those that keep one, and for the ground of those that show a mail in a frame that is larger (Evolution). Nothing in it is
 * loaded from elsewhere.
 */
export function renderMail(mail: HtmlMail, brand: MailBrand, scheme?: Scheme): Html {
  const { locale, subject, summary, parts, footer } = mail;
  const style = stylesFor(mail, brand);
  const direction = directionOf(locale);
  const schemes = scheme ?? 'light dark';
  return html`<!doctype html>
<html lang="${locale}" dir="${direction}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="${schemes}">
<meta name="supported-color-schemes" content="${schemes}">
<meta name="format-detection" content="telephone=no, date=no, address=no, email=no, url=no">
<meta name="x-apple-disable-message-reformatting">
<title>${subject}</title>
<style>:root{color-scheme:${schemes};supported-color-schemes:${schemes}}html{background:${brand.light.paper}}${darkRules(brand, scheme)}</style>
</head>
<body class="paper" style="${style.body}">
<div style="${style.hidden}">${summary}</div>
<div role="article" aria-label="${subject}" lang="${locale}" dir="${direction}">
<table ${layoutTable} width="100%" class="paper" style="${style.paper}"><tr><td align="center" style="${style.margin}">
<!--[if mso]><table ${layoutTable} width="560"><tr><td><![endif]-->
<table ${layoutTable} width="100%" style="${style.column}">
<tr><td class="text" style="${style.brand}">${logo(brand, style)}${(brand.isNameShown || !brand.logo) && brand.name}</td></tr>
<tr><td class="card" style="${style.card}">
<h1 class="text" style="${style.heading}">${subject}</h1>
${parts.map((part) => partOf(mail, part, style))}${factTable(mail, style)}
</td></tr>
${footer.length > 0 && html`<tr><td class="soft" style="${style.end}">${footer.map((pieces) => endParagraph(pieces, style))}</td></tr>`}
</table>
<!--[if mso]></td></tr></table><![endif]-->
</td></tr></table>
</div>
</body>
</html>
`;
}

/** A style in an element is overruled by one that is `!important`. */
function darkRules({ dark }: MailBrand, scheme: Scheme | undefined): string {
  const { paper, card, text, soft, line, button, ink, edge, link } = dark;
  const rules = [
    `html,.paper{background:${paper}!important}`,
    `.card{background:${card}!important;border-color:${line}!important}`,
    `.text,.card{color:${text}!important}`,
    `.soft{color:${soft}!important}`,
    `.line{border-color:${line}!important}`,
    `.button{background:${button}!important;border-color:${edge}!important;color:${ink}!important}`,
    `.link{color:${link}!important}`,
  ].join('');
  if (scheme === undefined) return `@media (prefers-color-scheme:dark){${rules}}`;
  return scheme === 'dark' ? rules : '';
}

/** One that has the name in it says it to those who do not see it. */
const logo = ({ logo: one, name, isNameShown }: MailBrand, style: Styles): Renderable =>
  one &&
  html`<img src="cid:${logoId}" alt="${isNameShown ? '' : name}" width="${one.width}" height="${one.height}" style="${style.logo}"> `;

function partOf(mail: HtmlMail, part: MailPart, style: Styles): Html {
  switch (part.kind) {
    case 'paragraph':
      return html`<p style="${style.paragraph}">${part.pieces.map((piece) => pieceOf(piece, style))}</p>
`;
    case 'quote':
      return html`<blockquote class="line text" dir="auto" style="${style.quote}">${lines(part.text)}</blockquote>
`;
    case 'code':
      return html`<p class="line" dir="ltr" style="${style.code}">${part.text}</p>
`;
    case 'button':
      return button(mail, part.link.text, style);
  }
}

/** A button that every program can show, and its link for those that show none, and for all who want to see where it leads. */
const button = ({ button: label, link }: HtmlMail, url: string, style: Styles): Html =>
  html`<table ${layoutTable} style="${style.buttonTable}"><tr><td class="button" style="${style.buttonCell}">${html`<a class="button" href="${url}" style="${style.button}">${label}</a>`}</td></tr></table>
<p class="soft" style="${style.buttonLink}">${link}<br>${anchor(url, style)}</p>
`;

/** A URL is read from left to right, and may end a line anywhere. */
const anchor = (url: string, style: Styles, text = url): Html =>
  html`<a class="link" href="${url}" dir="ltr" style="${style.link}">${text}</a>`;

function pieceOf(piece: Piece, style: Styles): Renderable {
  if (typeof piece === 'string') return lines(piece);
  if (isLink(piece)) return anchor(piece.text, style);
  if (piece.name !== 'support') return html`<span dir="auto">${lines(piece.text)}</span>`;
  const { href, text } = supportLink(piece.text);
  return anchor(href, style, text);
}

const lines = (text: string): Html => html`${text.split('\n').map((line, at) => html`${at > 0 && html`<br>`}${line}`)}`;

const factTable = ({ facts }: HtmlMail, style: Styles): Renderable =>
  facts.length > 0 &&
  html`<table width="100%" cellpadding="0" cellspacing="0" border="0" class="line" style="${style.facts}">
${facts.map(
  ([name, value]) =>
    html`<tr><th scope="row" class="soft" valign="top" style="${style.factName}">${name}</th>${html`<td valign="top" style="${style.fact}"><span dir="auto">${value}</span></td>`}</tr>
`,
)}</table>`;

const endParagraph = (pieces: readonly Piece[], style: Styles): Html =>
  html`<p style="${style.endParagraph}">${pieces.map((piece) => pieceOf(piece, style))}</p>`;
