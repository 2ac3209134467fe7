import Type from 'typebox';
import { Compile } from 'typebox/compile';
import { invalidFields } from '../../platform/errors.ts';
import { shapeProblems } from '../../platform/text/field-problems.ts';
import type { TotpConfirmation } from './confirm-totp.ts';

/** Body of `POST /v1/me/2fa/totp/confirm`. Spaces in the code do not matter. */
export const ConfirmBody = Type.Object(
  {
    code: Type.String({ maxLength: 100, description: 'The six digits shown by the app.' }),
    end_other_sessions: Type.Optional(
      Type.Boolean({
        default: false,
        description: 'Whether every other session ends, with the app access that came from it.',
      }),
    ),
  },
  { additionalProperties: false },
);

const confirmShape = Compile(ConfirmBody);

/** @throws {RequestError} `invalid_request` with every problem. */
export function readConfirmation(body: unknown): TotpConfirmation {
  if (!confirmShape.Check(body)) throw invalidFields(shapeProblems(confirmShape.Errors(body)));
  return { code: body.code, endOtherSessions: body.end_other_sessions ?? false };
}
