import type { ImportedSecrets } from '../../src/platform/config.ts';

/** A password, and its hash as another program than ours has made it. */
export type ImportedHash = {
  stored: string;
  password: string;
  /** Name and version of the program. */
  from: string;
  /** One of each format signs in at the front door. */
  atDoor?: true;
  /** Also right, by the rules of the program. */
  also?: string[];
};

const phrase = 'correct horse é 🐴';

export const secretSettings = {
  SIGNET_DEVISE_PEPPER: '0123456789abcdef',
  SIGNET_FIREBASE_SIGNER_KEY:
    'jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==',
};
export const secrets: ImportedSecrets = {
  devisePepper: secretSettings.SIGNET_DEVISE_PEPPER,
  firebaseSignerKey: Buffer.from(secretSettings.SIGNET_FIREBASE_SIGNER_KEY, 'base64'),
};

const by = (from: string, password: string, ...hashes: string[]): ImportedHash[] =>
  hashes.map((stored) => ({ stored, password, from }));

/** Of several that are alike the first signs in at the front door. */
const atDoor = ([first, ...rest]: ImportedHash[]): ImportedHash[] => [{ ...first!, atDoor: true }, ...rest];

const argon2 = [
  ...atDoor(
    by(
      'argon2-cffi 25.1.0',
      phrase,
      '$argon2i$v=19$m=256,t=3,p=1$c29tZXNhbHRzb21lc2FsdA$12WdnNnuSNNSR1FIMA2cbltnjJOPrDE9',
      '$argon2i$v=19$m=512,t=2,p=4$c29tZXNhbHRzb21lc2FsdA$rValou3gBvPAoAqzLEjeGnR/FaQYDeio',
    ),
  ),
  ...atDoor(
    by(
      'argon2-cffi 25.1.0',
      phrase,
      '$argon2d$v=19$m=256,t=3,p=1$c29tZXNhbHRzb21lc2FsdA$WsTCiq85y6eGUf+083unON1VE7t68J0C',
      '$argon2d$v=19$m=512,t=2,p=4$c29tZXNhbHRzb21lc2FsdA$edgmjuFBfUqbkJFYYCo2aSvp/Qfqsb/K',
    ),
  ),
  ...atDoor(
    by(
      'argon2-cffi 25.1.0',
      phrase,
      '$argon2id$v=19$m=256,t=3,p=1$c29tZXNhbHRzb21lc2FsdA$zPJK3LsLvkl13vGOiRZOlyDcReeqT1tK',
      '$argon2id$v=19$m=512,t=2,p=4$c29tZXNhbHRzb21lc2FsdA$s5q1SXO2Vkh0UyEDD2gstUZD9BPZw1zU',
    ),
  ),
  ...atDoor(
    by(
      'argon2-cffi 25.1.0, version 1.0',
      phrase,
      '$argon2i$v=16$m=256,t=3,p=1$c29tZXNhbHRzb21lc2FsdA$iLrLu+Fou8Nhb2jomvFJXzrpQ6pM2f1r',
      '$argon2i$v=16$m=512,t=2,p=4$c29tZXNhbHRzb21lc2FsdA$fQ6HePNH6ErE8m60VoFmSqsifk+mUQiM',
      '$argon2d$v=16$m=256,t=3,p=1$c29tZXNhbHRzb21lc2FsdA$EVYBqNsedZYjJwLIKSfOiTpdv7Pot6ga',
      '$argon2d$v=16$m=512,t=2,p=4$c29tZXNhbHRzb21lc2FsdA$Yb9Srzf/Rm7DbVOc3mrsGQFmRjHmtV79',
      '$argon2id$v=16$m=256,t=3,p=1$c29tZXNhbHRzb21lc2FsdA$Tl8uTeKFiGMzaZMzK2eWZExkLq3uGxCL',
      '$argon2id$v=16$m=512,t=2,p=4$c29tZXNhbHRzb21lc2FsdA$emsTC0vyg4ckJX7yeuQJPAGx8zLg9KH5',
    ),
  ),
  ...atDoor(
    by(
      'Django 5.2.19',
      phrase,
      'argon2$argon2id$v=19$m=512,t=2,p=2$YWd0THlsUThoYzc3dVUydjRMVGs1Sw$hxoyeCjRZhzRyMd40fpCpmigVzviF3CyZdrHR7oqVB4',
    ),
  ),
];

const bcrypt = [
  ...atDoor(by('pyca bcrypt 5.0.0', phrase, '$2a$06$1iSH9Mjg/7FuvWz2eXNCL.b/R9NvitepaAFkpReMRiF9vdPtmG8YS')),
  ...atDoor(by('pyca bcrypt 5.0.0', phrase, '$2b$06$jIur4mqRLw430sca3MnD3Ok9l6dx3.cnY2eRjEYY/vOmeqOoBK936')),
  ...atDoor(by('PHP 8.2.36', phrase, '$2y$05$egqNgOLcmRJo6sxxqK.rE.63CTG7j06.WihBTvS53H/OOKVlx49gC')),
  {
    from: 'PHP 8.2.36, crypt: it takes 72 bytes',
    stored: '$2y$05$abcdefghijklmnopqrstuuLkMZtUsVwf9Ptg/wgiNv8ZhtnAHnix.',
    password: '0123456789'.repeat(8),
    also: ['0123456789'.repeat(8).slice(0, 72), `${'0123456789'.repeat(8).slice(0, 72)}and more`],
  },
  ...by('pyca bcrypt 5.0.0', 'a\0b', '$2b$05$X9TZyy2AtW/4D9hNrLcxsuhNCrlWj664jolbsbQAM07XL1/78R6S2'),
  ...atDoor(by('Django 5.2.19', phrase, 'bcrypt$$2b$05$Wejei7bpBC5v7MMRwWeyrugQWrZWkAowyWakAbmaJFyJymjGwOlfS')),
  ...atDoor(by('Django 5.2.19', phrase, 'bcrypt_sha256$$2b$05$I5mvf8HKzG6lFaLWfIVYeuNk0qE.wZtnMsabMIdOAZbMWBkS0rWDy')),
  {
    from: 'PHP 8.2.36, by the expression of wp_hash_password in WordPress 6.8',
    stored: '$wp$2y$05$uhOSxDzZ07CIdmOLPsi4WueJPdM9Lmt9khzh2M/7zcg4pDn4ECdq2',
    password: phrase,
    also: [` ${phrase}\n`],
    atDoor: true as const,
  },
  ...atDoor(
    by(
      'pyca bcrypt 5.0.0, of password and pepper',
      phrase,
      '$devise$2a$05$imODIxNFnMhNEPkrp.jyF.QrtJ2KuBCujdIFkZrKg7kbVnW9KsVAG',
    ),
  ),
];

const pbkdf2 = [
  ...atDoor(
    by(
      'Python 3.11.7, hashlib',
      phrase,
      '$pbkdf2-sha1$i=1500,l=20$AAECAwQFBgcICQoLDA0ODw==$7Fpk1RntwkkvErdJ0Pd+d9cyejc=',
      '$pbkdf2-sha256$i=1500,l=32$AAECAwQFBgcICQoLDA0ODw==$2aNVhluh/4a+3AsQbzgZL0y3FHCzzswKAv0w4rPIxfE=',
      '$pbkdf2-sha256$i=1500,l=64$AAECAwQFBgcICQoLDA0ODw==$2aNVhluh/4a+3AsQbzgZL0y3FHCzzswKAv0w4rPIxfEkoFkuR0s/9mpKtQ0I+PKMfF1vFGRY/fKRZwd8ZpWY3Q==',
      '$pbkdf2-sha512$i=1500,l=64$AAECAwQFBgcICQoLDA0ODw$+I2GSFc/SZA4lOMKivKcU1DOXPQyGyi2rNpy4j9veWIQxklEDFLcx21ZcZtN/2x83Iz/+W3PmsMkK6VkNXNTig',
    ),
  ),
  ...by(
    'passlib 1.7.4',
    phrase,
    '$pbkdf2$1000$7h2j1DrnPMc4B.DcW4uxlg$aGGjv/Hk6rJpMjIN6TSYhbbaffY',
    '$pbkdf2-sha256$1000$uvf.fw.BUKo1BsB47z1nrA$0PCIDPIxH3Q2PWIWiyJnEng3fjTI6PwdaR61bWqQ32o',
    '$pbkdf2-sha512$1000$O2dM6V0rhdC6VyqldC5FKA$sm28tgBTk3GdPlf4Sh6nPJqJnW7LyOMQDVQ2KB1LXkbPMG8R6zsdEe0PSpSvBmhGSGGdpXg7roBhQgrFLgyZEA',
  ),
  ...atDoor(
    by(
      'Django 5.2.19',
      phrase,
      'pbkdf2_sha256$2000$0rEBzmnJBmvnUma1Uclhgf$A9cjdi8s1cuYDc8J/QqEuM4zQlGOn2chQANw8+/8WBs=',
      'pbkdf2_sha1$2000$2jo0PNyC5IM6K5wPv33cX6$+1ETwLsR54dtC5vfwZQLtnqOHMA=',
    ),
  ),
  ...atDoor(
    by(
      'ASP.NET Core, PasswordHasherTest.cs',
      'my password',
      '$aspnet-identity$ANXrDknc7fGPpigibZXXZFMX4aoqz44JveK6jQuwY3eH/UyPhvr5xTPeGYEckLxz9A==',
      '$aspnet-identity$AAABAgMEBQYHCAkKCwwNDg+ukCEMDf0yyQ29NYubggHIVY0sdEUfdyeM+E1LtH1uJg==',
    ),
  ),
  ...atDoor(
    by(
      'ASP.NET Core, PasswordHasherTest.cs',
      'my password',
      '$aspnet-identity$AQAAAAEAACcQAAAAEAABAgMEBQYHCAkKCwwNDg+yWU7rLgUwPZb1Itsmra7cbxw2EFpwpVFIEtP+JIuUEw==',
      '$aspnet-identity$AQAAAAIAAAAyAAAAEOMwvh3+FZxqkdMBz2ekgGhwQ4B6pZWND6zgESBuWiHw',
      '$aspnet-identity$AQAAAAIAAAD6AAAAIJbVi5wbMR+htSfFp8fTw8N8GOS/Sje+S/4YZcgBfU7EQuqv4OkVYmc4VJl9AGZzmRTxSkP7LtVi9IWyUxX8IAAfZ8v+ZfhjCcudtC1YERSqE1OEdXLW9VukPuJWBBjLuw==',
      '$aspnet-identity$AQAAAAAAAAD6AAAAEAhftMyfTJylOlZT+eEotFXd1elee8ih5WsjXaR3PA9M',
      '$aspnet-identity$AQAAAAEAA9CQAAAAIESkQuj2Du8Y+kbc5lcN/W/3NiAZFEm11P27nrSN5/tId+bR1SwV8CO1Jd72r4C08OLvplNlCDc3oQZ8efcW+jQ=',
    ),
  ),
];

const scrypt = [
  ...atDoor(
    by(
      'passlib 1.7.4',
      phrase,
      '$scrypt$ln=10,r=8,p=1$jTGGUEoJwfifM8a4t5Zyrg$hrYMZsnb/Jn2tvSdz/7z3cZFTHTofPoB5YhELDV/C0g',
      '$scrypt$ln=8,r=16,p=3$QAhBSAmBkBICoDSG8F7rfQ$rb09tSLYCscmrtX6nPIK0SiE0bfl7Fie8T08oVulPZI',
    ),
  ),
  ...by(
    'Python 3.11.7, hashlib, as Kratos writes it',
    phrase,
    '$scrypt$ln=1024,r=8,p=1$MWM1MDg5MmMzNTRkYTViMjNlYzNiNTAwNzY0OWJjNmU=$N8ekDAxpcKDFaQCNaijpYb3ewAA0Mn/LkuPRSk69BRw=',
  ),
  ...atDoor(
    by(
      'Django 5.2.19',
      phrase,
      'scrypt$16384$u4NWwM9aeCu4n1obEEvHtO$8$5$s3jsNH6PdViQub8gxLlzAOTBRcdvC486K7roeCv9EHUHwfgrz/FF4gIxdBmH8Y+rBL8Vp80zpjgNpaD5oy1CQg==',
    ),
  ),
  {
    from: 'Python 3.11.7, hashlib, of the password in NFKC',
    stored:
      '$better-auth$1c50892c354da5b23ec3b5007649bc6e:721d9432788d04c2176373f919738a11330df4b4bba314222f434a4b5259b92ea002fcf2b531006418990bd4f883cee7af756c4a9d98fe090475e5f1f85265b3',
    password: `${phrase} ﬁ`,
    also: [`${phrase} fi`],
    atDoor: true as const,
  },
  ...atDoor(
    by(
      'firebase/scrypt, README.md',
      'user1password',
      '$fbscrypt$v=1,n=14,r=8,p=1,ss=Bw==$42xEC+ixf3L2lw==$lSrfV15cpx95/sZS2W9c9Kp6i/LVgQNDNC/qzrCnh1SAyZvqmZqAjTdn3aoItz+VHjoZilo78198JAdRuid5lQ==',
    ),
  ),
  ...by(
    'firebase-scrypt 2.2.0',
    phrase,
    '$fbscrypt$v=1,n=10,r=4,p=1,ss=Bw==$42xEC+ixf3L2lw==$CfOwGWPNYYB5d0j+lftRWR1y6Dade91dXaMXeQHQPTDqwmmzv2lQsoLUKMXUgWJXSpLpUvafKXhvB0GyXxZ/IA==',
  ),
];

const crypt = [
  ...atDoor(
    by(
      'passlib 1.7.4',
      phrase,
      '$5$7jlJgzw6tJlrz6cQ$hZWWUw3xvj0E.zHazQtKZcX70I84mGtGR/nqi0ftwXD',
      '$5$rounds=1234$nlYCWUWBCw31X3AF$qMGUT9A/JaC/m4f2Z4LOJ0d7luYdPiy3sTDO0R5oO29',
    ),
  ),
  ...atDoor(
    by(
      'passlib 1.7.4',
      phrase,
      '$6$7C3DRUJw.fLFxtuD$cWk/5WAJc4JzZ6pvPOfL9X9FfKpbPjQId8PNYJ85WQdkLKW/O75sSlEHb7M/2ggCJauy09iK2kRmmAfCs.woJ.',
      '$6$rounds=1234$PXj.WaA.4ujW.BmA$hYyDH52GY8BCtoRzKD4wShJWev7evamd.GepBGO291trfq3lJG.u9HbjuC0kiNTgsVuNWcExSi0hTxLfMs4Z41',
    ),
  ),
  ...by(
    'passlib 1.7.4',
    'long'.repeat(50),
    '$6$rounds=1000$tk7aE0H/U1OpOzHp$n6RZCkKxHH43N9WWDJtPz8oOdp4hDLy4E53AmsuB1yCfTwSuEKOgk.fxoixO3ng7bUoBSN/UHMZ.zvR3M5x4R0',
    '$5$rounds=1000$oHnqsbgFGK06a5/B$3vQq3y.YxBPRgObhyluqZNUXKEAHVMsamwQ.BI9wqzA',
  ),
  ...by('passlib 1.7.4', '', '$5$rounds=1000$Jr7cQVu3Yqa44wIz$O.Nr4E1oTW9XTMax5Y.gKAki7HuG.nxj0W7yTcq6GdC'),
  ...by(
    'OpenSSL 3.0.19, openssl passwd',
    'Hello world!',
    '$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1',
    '$5$saltstring$5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5',
  ),
  ...by('PHP 8.2.36, crypt', phrase, '$5$rounds=1100$saltsalt$S1JG1dvrTAsHuDhxfCWdNMdHRudNMjZfGpCm0/Xscw7'),
  {
    from: 'passlib 1.7.4',
    stored: '$P$6AMcWYnDkDs4VQP4eDWsskdszDNijD1',
    password: phrase,
    also: [`\t${phrase} `],
    atDoor: true as const,
  },
  ...atDoor(by('passlib 1.7.4', phrase, '$H$514eHmBCURRICz9BQCSK6J8Y99NuXj0')),
];

export const importedHashes: readonly ImportedHash[] = [...argon2, ...bcrypt, ...pbkdf2, ...scrypt, ...crypt];
