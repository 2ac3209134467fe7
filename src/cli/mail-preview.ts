import { findLocale, type Locale, locales } from '../platform/i18n/translate.ts';
import { exampleMail, languagesOfLetter } from '../platform/mail/examples.ts';
import { isLetterName, type LetterName, letterNames, readerOf } from '../platform/mail/letters.ts';
import { list } from '../platform/report.ts';
import { command, UsageError } from './command.ts';

type ExampleDeps = Parameters<typeof exampleMail>[0];

function listMails(deps: ExampleDeps) {
  const mails = letterNames.map((name) => {
    const { subject } = exampleMail(deps, name, languagesOfLetter(deps.config, name)[0]!);
    return { name, to: readerOf(name), subject };
  });
  const rows = mails.map(({ name, to, subject }) => [name, to, subject]);
  return { json: { mails }, text: list([['NAME', 'TO', 'SUBJECT'], ...rows]) };
}

function checkedName(name: string): LetterName {
  if (!isLetterName(name))
    throw new UsageError(`There is no mail ${JSON.stringify(name)}. signet mail preview lists them all.`);
  return name;
}

function checkedLanguage(tag: string): Locale {
  const found = findLocale(tag);
  if (found === undefined) throw new UsageError(`--language must be one of ${locales.join(', ')}.`);
  return found;
}

export const mailPreviewCommand = {
  'mail preview': command({
    summary:
      'Print a mail as people get it, with invented people in it. Lists all mails without a name. Sends nothing.',
    operands: { name: { value: 'name', optional: true } },
    options: {
      language: { value: 'tag', help: 'its language, such as de or pt-BR', default: 'the first of SIGNET_LANGUAGES' },
      html: { help: 'print the HTML part' },
      text: { help: 'print the text part', default: 'yes' },
    },
    async run(deps, { name, language, html, text }) {
      if (html && text) throw new UsageError('Give either --html or --text.');
      if (name === undefined) return listMails(deps);
      const checked = checkedName(name);
      const locale = language === undefined ? languagesOfLetter(deps.config, checked)[0]! : checkedLanguage(language);
      const mail = exampleMail(deps, checked, locale);
      const { to, subject } = mail;
      return {
        json: { name: checked, language: locale, to, subject, text: mail.text, html: mail.html },
        text: html ? mail.html : `Subject: ${subject}\n\n${mail.text}`,
      };
    },
  }),
};
