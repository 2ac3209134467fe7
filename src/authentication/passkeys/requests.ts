import Type from 'typebox';
import { Compile } from 'typebox/compile';
import { invalidFields } from '../../platform/errors.ts';
import { shapeProblems } from '../../platform/text/field-problems.ts';

const name = Type.String({ description: '1 to 100 characters.' });

/** Body of `POST /v1/me/passkeys`. */
export const RegistrationBody = Type.Object(
  {
    credential: Type.Object({}, { description: 'RegistrationResponseJSON (WebAuthn §5.1.8).' }),
    name: Type.Optional(name),
  },
  { additionalProperties: false },
);

/** Body of `PATCH /v1/me/passkeys/:id`. */
export const NameBody = Type.Object({ name }, { additionalProperties: false });

const registrationShape = Compile(RegistrationBody);
const nameShape = Compile(NameBody);

/** @throws {RequestError} `invalid_request` */
export function readRegistrationBody(body: unknown): { credential: unknown; name?: string } {
  if (!registrationShape.Check(body)) throw invalidFields(shapeProblems(registrationShape.Errors(body)));
  return body;
}

/** @throws {RequestError} `invalid_request` */
export function readNameBody(body: unknown): string {
  if (!nameShape.Check(body)) throw invalidFields(shapeProblems(nameShape.Errors(body)));
  return body.name;
}
