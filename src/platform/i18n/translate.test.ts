import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { IntlMessageFormat } from 'intl-messageformat';
import { translator } from '../pages/view.ts';
import { withUnit } from './formats.ts';
import {
  chooseLocale,
  consoleLocales,
  directionOf,
  type Locale,
  localeFinder,
  locales,
  nameOfLanguage,
  translatePlain,
} from './translate.ts';

const read = (locale: string): Record<string, string> =>
  JSON.parse(readFileSync(new URL(`${locale}.json`, import.meta.url), 'utf8'));
const english = read('en');
const pair = ['en', 'de'];
type Element = ReturnType<IntlMessageFormat['getAst']>[number];
const literal = 0;
const plural = 6;

/** @throws when it is no ICU message. */
const parse = (text: string) => new IntlMessageFormat(text, 'en', undefined, { ignoreTag: true }).getAst();

const withOptions = (elements: Element[]): Element[] =>
  elements.flatMap((element) => [
    element,
    ...('options' in element ? Object.values(element.options).flatMap(({ value }) => withOptions(value)) : []),
  ]);

/** @returns the names of the values, each once; `literals` are the texts around them. */
function parts(text: string) {
  const all = withOptions(parse(text)).filter((element) => 'value' in element);
  const names = all.filter(({ type }) => type !== literal).map(({ value }) => value);
  return { names: [...new Set(names)].sort(), literals: all.filter(({ type }) => type === literal) };
}

test('a language is a file, and every file is a language', () => {
  const files = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.json'));
  assert.deepEqual([...locales].sort(), files.map((name) => name.slice(0, -5)).sort());
  assert.ok(locales.length >= 2);
  assert.deepEqual(['de', 'en'].map(nameOfLanguage), ['Deutsch', 'English']);
});

/** What other languages than those of the consoles have. */
const forPeople = Object.keys(read('fr')).sort();

test('messages of the consoles alone are in the languages of the consoles alone', () => {
  const consoles = /^(?:admin\.(?!navigation$)|developer\.(?!navigation$)|deliveries\.|reference\.|chart\.|webhooks\.)/;
  assert.deepEqual(
    forPeople.filter((key) => consoles.test(key)),
    [],
  );
  assert.ok(forPeople.length > 700);
  assert.ok(forPeople.every((key) => key in english));
});

for (const locale of locales) {
  const messages = read(locale);

  test(`${locale} says everything that English says, and nothing else`, () => {
    assert.deepEqual(
      Object.keys(messages).sort(),
      consoleLocales.includes(locale) ? Object.keys(english).sort() : forPeople,
    );
    for (const [key, text] of Object.entries(messages)) {
      assert.ok(text.trim() !== '' || english[key]!.trim() === '', `${locale}: ${key} is empty`);
    }
  });

  test(`${locale} has the values of English, in messages that are well-formed`, () => {
    for (const [key, text] of Object.entries(messages)) {
      const { names, literals } = parts(text);
      assert.deepEqual(names, parts(english[key]!).names, `${locale}: ${key}`);
      for (const name of names) assert.match(name, /^\w+$/, `${locale}: ${key}`);
      for (const { value } of literals) assert.doesNotMatch(value, /[{}]/, `${locale}: ${key} has a brace too many`);
      assert.doesNotMatch(text, /''|'[{}]/, `${locale}: ${key} quotes what ICU would not read as syntax`);
    }
  });

  test(`${locale} has every plural form of the language`, () => {
    const { pluralCategories } = new Intl.PluralRules(locale).resolvedOptions();
    for (const [key, text] of Object.entries(messages)) {
      for (const element of withOptions(parse(text))) {
        if (element.type !== plural) continue;
        const forms = Object.keys(element.options).filter((form) => !form.startsWith('='));
        assert.deepEqual(forms.sort(), [...pluralCategories].sort(), `${locale}: ${key}`);
      }
    }
  });

  test(`${locale} has no markup in it, and no line breaks but in mails`, () => {
    for (const [key, text] of Object.entries(messages)) {
      assert.doesNotMatch(text, /<\/?[a-z]|&[a-z]+;/i, `${locale}: ${key}`);
      assert.doesNotMatch(text, /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/, `${locale}: ${key} sets a direction`);
      if (!key.startsWith('mail.')) assert.doesNotMatch(text, /[\r\n\t]/, `${locale}: ${key}`);
      if (/^mail\..*\.subject$/.test(key)) assert.doesNotMatch(text, /[\r\n]/, `${locale}: ${key}`);
    }
  });
}

/** What the code hands to a refusal or a field problem, under whatever key: programs read it, too. */
const refusals = new Set(Object.keys(english).filter((key) => /(^|\.)problem\./.test(key)));
for (const entry of readdirSync(new URL('../..', import.meta.url), { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || !entry.name.endsWith('.ts')) continue;
  const code = readFileSync(`${entry.parentPath}/${entry.name}`, 'utf8');
  for (const [, key = ''] of code.matchAll(/(?:refusal|fieldProblem)\(\s*'[^']*',\s*\{\s*key:\s*'([^']+)'/g)) {
    refusals.add(key);
  }
}

// Not a year, a version, and not the "=1" of a plural form.
const numberBeforeWord = /(?<![=\w.-])(?:\d{1,3}|#|\{(?:count|days|kb|max|min|minutes|short|side|total)\}) (?=\p{L})/u;

/** What may not end a line in the languages that are held to it, and what French sets before two-part punctuation. */
const typography: readonly {
  rule: string;
  locales: readonly Locale[];
  broken: RegExp;
  except?: Pick<RegExp, 'test'>;
}[] = [
  {
    rule: 'a number stays with the word that follows it',
    locales: ['ar', 'cs', 'de', 'es', 'fr', 'he', 'hi', 'it', 'nl', 'pl', 'pt-BR', 'tr', 'uk'],
    broken: numberBeforeWord,
  },
  {
    rule: 'a number stays with the word that follows it, but in what programs read and in subjects, which are ASCII',
    locales: ['en'],
    broken: numberBeforeWord,
    except: { test: (key) => refusals.has(key) || key.endsWith('.subject') },
  },
  {
    rule: 'an e-mail is one word, with a hyphen at which no line ends',
    locales: ['cs', 'de', 'fr', 'nl', 'pl', 'pt-BR', 'tr'],
    broken: /\be-(?:mail|posta)/i,
    except: /^mail\./, // searched by other programs, which may know one hyphen
  },
  {
    rule: 'an abbreviation stays with its word, by a hyphen at which no line ends',
    locales: ['de', 'nl', 'uk'],
    broken: /\b(?:IP|PIN|QR|URL)-\p{L}/u,
    except: /^mail\./,
  },
  {
    rule: 'a back-up is one word, with a hyphen at which no line ends',
    locales: ['nl'],
    broken: /\bback-up/i,
    except: /^mail\./,
  },
  {
    rule: 'a heading says where its line may end, which is not within a word', // eleven letters fill one of a phone
    locales: ['zh-Hans', 'zh-Hant'],
    broken: /\p{sc=Han}{12}/u,
    except: /^(?!.*\.title$|mail\.(?:grant_replayed|new_device|passkey_copied)\.subject$)/,
  },
  {
    rule: 'a word of one letter does not end a line',
    locales: ['cs', 'pl'],
    broken: /(?<![\p{L}\p{N}{’])[aikosuvwz] (?=[\p{L}\p{N}{„])/iu,
  },
  {
    rule: 'a no-break space is before ? ! ; : and inside guillemets',
    locales: ['fr'],
    broken: /(?<!\u202f)[?!;]|(?<!\u00a0|https?):(?!\d)|(?<!\u00a0)»|«(?!\u00a0)/,
    except: /^problem\.email\.routed$/, // names these characters
  },
  {
    rule: 'no space is beside a letter, but before 様',
    locales: ['ja'],
    broken: /[ぁ-ヿ\p{sc=Han}] (?=[\w{ぁ-ヿ\p{sc=Han}])|[\w}] (?!様)(?=[ぁ-ヿ\p{sc=Han}])/u,
  },
  {
    rule: 'no space is after a day, which ends in 日',
    locales: ['zh-Hans', 'zh-Hant'],
    broken: /\{day\} \p{sc=Han}/u,
  },
  {
    rule: 'a prefix is joined by a maqaf, at which no line ends before Latin letters',
    locales: ['he'],
    broken: /\p{sc=Hebr}-[\w{]/u,
  },
  { rule: 'what is quoted is in « »', locales: ['ar', 'fr', 'uk'], broken: /["“”„]/ },
  {
    rule: 'what is quoted is in “ ”',
    locales: ['es', 'hi', 'it', 'nl', 'pt-BR', 'tr', 'zh-Hans'],
    broken: /["„«»‘「」]/,
  },
  { rule: 'what is quoted is in „ “', locales: ['cs', 'de'], broken: /["”«»‘]/ },
  { rule: 'what is quoted is in „ ”', locales: ['pl'], broken: /["“«»‘]/ },
  { rule: 'what is quoted is in 「 」', locales: ['ja', 'zh-Hant'], broken: /["“”„‘’«»]/ },
  { rule: 'what is quoted is in ‘ ’', locales: ['ko'], broken: /["“”„«»「」]/ },
  { rule: 'what is quoted is in ״ ״', locales: ['he'], broken: /["“”„‘’«»]/ },
  {
    rule: 'a sign after a letter is a full-width one',
    locales: ['ja', 'zh-Hans', 'zh-Hant'],
    broken: /[ぁ-ヿ\p{sc=Han}](?:[,:;?!]|\.(?:\s|$))/u,
  },
  { rule: 'a sign after a letter is one of the script', locales: ['ar'], broken: /\p{sc=Arab}[,;?]/u },
  {
    rule: 'a sentence ends with a danda, and a nasal is a bindu',
    locales: ['hi'],
    broken: /[\p{sc=Deva}}]\.(?:\s|$)|ँ/u,
  },
  {
    rule: 'a sentence fits a reader of any gender without two forms of a word',
    locales: ['cs', 'es', 'fr', 'hi', 'it', 'pl', 'pt-BR', 'uk'],
    broken: /\p{L}\(-?\p{L}{1,2}\)|था\/थी|[oa]\/[oa]\b|·e\b/u,
  },
];
for (const { rule, locales: held, broken, except } of typography) {
  test(`in ${held.join(', ')} ${rule}`, () => {
    for (const locale of held) {
      const messages = read(locale);
      for (const key of forPeople) {
        if (!except?.test(key)) assert.doesNotMatch(messages[key]!, broken, `${locale}: ${key}`);
      }
    }
  });
}

test('the head of a column does not end a line within a word that has a hyphen', () => {
  for (const locale of consoleLocales) {
    for (const [key, text] of Object.entries(read(locale)))
      if (key.includes('.column.')) assert.doesNotMatch(text, /\p{L}-\p{L}/u, `${locale}: ${key}`);
  }
});

test('no line ends between a number and its unit', () => {
  const told: [Locale, string, string][] = [
    ['en', '20 minutes ago', '20\u00a0minutes ago'],
    ['de', 'vor 5 Tagen', 'vor 5\u00a0Tagen'],
    ['uk', '24 лютого 2027 р.', '24 лютого 2027\u00a0р.'],
    ['ja', '10 分前', '10分前'],
    ['zh-Hans', '10分钟前', '10\u00a0分钟前'],
    ['zh-Hant', '10 分鐘前', '10\u00a0分鐘前'],
    ['zh-Hans', '2027年2月24日', '2027年2月24日'],
    ['en', '24 February 2027', '24 February 2027'],
  ];
  for (const [locale, text, together] of told) assert.equal(withUnit(locale, text), together);
});

test('every refusal that programs may read is ASCII without quote and backslash (RFC 6749 §5.2)', () => {
  assert.ok(refusals.size > 8);
  for (const key of refusals) {
    assert.ok(key in english, `${key} is not in the message file`);
    assert.match(english[key]!, /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/, key);
  }
});

test('the first wish that names a language we have decides; without one it is English', () => {
  assert.equal(chooseLocale(pair, 'de', 'en', 'en'), 'de');
  assert.equal(chooseLocale(pair, undefined, null, 'de'), 'de');
  assert.equal(chooseLocale(pair, '', 'de', 'en'), 'de');
  assert.equal(chooseLocale(pair, 'fr it', 'de', 'en'), 'de');
  assert.equal(chooseLocale(pair, 'fr', undefined, 'ja'), 'en');
  assert.equal(chooseLocale(pair), 'en');
});

test('ui_locales is in order of preference, Accept-Language in order of quality', () => {
  assert.equal(chooseLocale(pair, 'fr de en'), 'de');
  assert.equal(chooseLocale(pair, 'de-CH en'), 'de');
  assert.equal(chooseLocale(pair, 'DE'), 'de');
  assert.equal(chooseLocale(pair, 'en;q=0.5, de;q=0.9'), 'de');
  assert.equal(chooseLocale(pair, 'en; q=0.5 , de-AT ; q=0.9'), 'de');
  assert.equal(chooseLocale(pair, 'fr, de;q=0.2, en;q=0.1'), 'de');
  assert.equal(chooseLocale(pair, 'de;q=0, en'), 'en');
  assert.equal(chooseLocale(pair, 'de;q=0'), 'en');
});

test('the longest beginning of a tag decides, then language and script, which a tag may leave out', () => {
  const find = localeFinder(['en', 'de', 'pt', 'pt-BR', 'zh-Hans', 'zh-Hant', 'es-419', 'he', 'ar-Arab']);
  const found = {
    'pt-BR': 'pt-BR',
    'PT-br': 'pt-BR',
    pt_BR: 'pt-BR',
    'pt-BR-x-private': 'pt-BR',
    'pt-PT': 'pt',
    pt: 'pt',
    'zh-Hant-TW': 'zh-Hant',
    'zh-TW': 'zh-Hant',
    'zh-HK': 'zh-Hant',
    'zh-CN': 'zh-Hans',
    zh: 'zh-Hans',
    'es-MX': 'es-419',
    es: 'es-419',
    iw: 'he',
    'ar-EG': 'ar-Arab',
    'de-AT-1996': 'de',
    'sr-Latn': undefined,
    english: undefined,
    e: undefined,
    '': undefined,
    '-': undefined,
    'en--': 'en',
    constructor: undefined,
    '*': undefined,
  };
  for (const [tag, locale] of Object.entries(found)) assert.equal(find(tag), locale, tag);
  assert.equal(localeFinder(['en', 'pt-BR'])('pt-PT'), 'pt-BR');
  assert.equal(localeFinder(['en', 'zh-Hans'])('zh-TW'), undefined, 'another script');
});

test('a mail to an account whose language has another region, or is gone, is in the nearest that there is', () => {
  assert.equal(translatePlain('de-CH', { key: 'mail.test.text' }), translatePlain('de', { key: 'mail.test.text' }));
  assert.equal(translatePlain('xx', { key: 'mail.test.text' }), translatePlain('en', { key: 'mail.test.text' }));
});

test('the direction of a page is that of the script', () => {
  assert.deepEqual(['en', 'de', 'ar', 'he', 'fa-IR', 'ur', 'az-Arab', 'az', 'zh-Hant', 'en-Arab'].map(directionOf), [
    'ltr',
    'ltr',
    'rtl',
    'rtl',
    'rtl',
    'rtl',
    'rtl',
    'ltr',
    'ltr',
    'rtl',
  ]);
});

test('nothing that a browser may send instead of a language breaks a page', () => {
  const parts = fc.constantFrom('de', 'en', ';q=', ',', ' ', ';', '=', '-', '*', '0.5', '__proto__', 'constructor');
  const broken = fc.array(fc.oneof(parts, fc.string({ maxLength: 8 })), { maxLength: 40 }).map((all) => all.join(''));
  fc.assert(
    fc.property(broken, broken, (one, other) => {
      assert.ok(pair.includes(chooseLocale(pair, one, other)));
    }),
    {
      numRuns: 1000,
      examples: [
        ['*', 'de;q=NaN'],
        ['de;q=-1', ';;;'],
        ['x'.repeat(100_000), ',,,,'],
      ],
    },
  );
});

test('one word for one thing: people read of apps, developers and administrators of clients', () => {
  const others = { en: /\b(application|homepage|relying part)/i, de: /Anwendung|Webseite|Homepage/ };
  const forPeople = /^(account|apps|confirm|consent|delete|email|federation|password|security|sessions|sign|mail)[._]/;
  const forOthers =
    /^(account\.elsewhere\.admin|mail\.(role_admin|role_given|client_\w+|reviews_waiting)\.text|mail\.footer_owner|mail\.button\.(client|reviews))$/;
  for (const [locale, other] of Object.entries(others)) {
    for (const [key, text] of Object.entries(read(locale))) {
      assert.doesNotMatch(text, other, `${locale}: ${key}`);
      const words = text.replace(/\{\w+\}/g, '');
      if (forPeople.test(key) && !forOthers.test(key)) assert.doesNotMatch(words, /\bclients?\b/i, `${locale}: ${key}`);
    }
  }
});

/** Words beside those of `docs/glossary` for the same things, and words of another region or of a manner that the pages do not have. */
const strays: Readonly<Record<string, RegExp>> = {
  ar: /مزوّ?د/,
  cs: /propojen/,
  de: /Backup-Code|Administration|\bvertraute/i,
  es: /\baplicaci|\bañad/i,
  fr: /\bmoyens? de connexion/i,
  he: /הפעלות|להתנתק|מקושר/,
  hi: /प्रदाता|समूह|अक्षम|सहेज|समाप्त|पहुंच (?:दी|खत्म|रही)/,
  it: /\bfornitor|\bchiave di accesso/i,
  ja: /プロバイダー|ブラウザー|サインイン|ユーザ(?!ー)/,
  ko: /비활성화|공급자|클릭/,
  nl: /\binlog[ ,.?]|\bverbonden\b|\baanmeld(?:en|ing)\b/i,
  pl: /\bsposob[yu] logowania/i,
  'pt-BR': /\baplicativo/i,
  uk: /служб|(?<!\p{L})обер[іе]/iu,
  'zh-Hans': /帐户|帐号|提供方|登陆/,
  'zh-Hant': /帳號|供應商|設備|默認/,
};

test('one word for one thing: that of the glossary', () => {
  for (const [locale, stray] of Object.entries(strays)) {
    const messages = read(locale);
    for (const key of forPeople) assert.doesNotMatch(messages[key]!, stray, `${locale}: ${key}, see docs/glossary`);
  }
});

test('values are escaped, and a missing value is empty', () => {
  const hostile = '<img src=x onerror=alert(1)>';
  assert.doesNotMatch(translator('en')('signin.to_client', { client: hostile }).toString(), /<img/);
  assert.doesNotMatch(translator('en')('signin.to_client').toString(), /undefined|\{/);
  assert.match(translatePlain('de', { key: 'signin.to_client', values: { client: '{client}' } }), /\{client\}$/);
});

test('a count chooses the plural form of the language', () => {
  const values = { pending: 1, changes: 2 };
  const key = 'admin.overview.clients';
  assert.match(translatePlain('en', { key, values }), /1 new client, 2 changes/);
  assert.match(translator('de')(key, values).toString(), /1 neuer Client, 2 \S+en/);
  assert.match(translatePlain('en', { key, values: { pending: 0, changes: 1 } }), /0 new clients, 1 change\./);
  assert.match(translatePlain('fr', { key, values: { pending: 1200, changes: 1 } }), /1,200 new clients/);
});
