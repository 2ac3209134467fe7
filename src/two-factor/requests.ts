import Type from 'typebox';
import { Compile } from 'typebox/compile';
import { shapeProblems } from '../clients/field-problems.ts';
import { invalidFields } from '../errors.ts';

/** Body of `POST /v1/me/2fa/totp/confirm`. Spaces in the code do not matter. */
export const ConfirmBody = Type.Object(
  { code: Type.String({ maxLength: 100, description: 'The six digits that the app shows now.' }) },
  { additionalProperties: false },
);

const confirmShape = Compile(ConfirmBody);

/** @throws {RequestError} `invalid_request` with every problem. */
export function readConfirmation(body: unknown): string {
  if (!confirmShape.Check(body)) throw invalidFields(shapeProblems(confirmShape.Errors(body)));
  return body.code;
}
