import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';

// A self-signed certificate in DER (RFC 5280 §4.1): Node has no function that makes one.

const der = (tag: number, ...parts: readonly Buffer[]): Buffer => {
  const body = Buffer.concat(parts);
  const length = body.length < 128 ? [body.length] : [0x82, body.length >> 8, body.length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
};
const sequence = (...parts: readonly Buffer[]) => der(0x30, ...parts);
const hex = (tag: number, digits: string) => der(tag, Buffer.from(digits, 'hex'));
const ecdsaWithSha256 = sequence(hex(0x06, '2a8648ce3d040302'));
const utc = (at: Date) => der(0x17, Buffer.from(at.toISOString().replace(/^..|[-:T]|\.\d+/g, '')));

/** For a server on this machine, in PEM, for a day around now. @param names its DNS names. */
export function selfSignedCertificate(names: readonly string[]): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = sequence(der(0x31, sequence(hex(0x06, '550403'), der(0x0c, Buffer.from('Signet tests')))));
  const alternatives = sequence(...names.map((one) => der(0x82, Buffer.from(one))));
  const isAuthority = sequence(hex(0x06, '551d13'), hex(0x01, 'ff'), der(0x04, sequence(hex(0x01, 'ff'))));
  const around = [-1, 1].map((days) => utc(new Date(Date.now() + days * 86_400_000)));
  const body = sequence(
    der(0xa0, hex(0x02, '02')),
    der(0x02, Buffer.from([1]), randomBytes(8)),
    ecdsaWithSha256,
    name,
    sequence(...around),
    name,
    publicKey.export({ format: 'der', type: 'spki' }),
    der(0xa3, sequence(sequence(hex(0x06, '551d11'), der(0x04, alternatives)), isAuthority)),
  );
  const signature = der(0x03, Buffer.from([0]), sign('sha256', body, privateKey));
  const cert = sequence(body, ecdsaWithSha256, signature).toString('base64');
  return {
    key: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${cert.replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`,
  };
}
