import assert from 'node:assert/strict';
import { readConfig } from '../../src/app/config.ts';
import { ConfigError } from '../../src/platform/errors.ts';

/** A start with these settings must be refused. @returns the sentence. */
export function refused(environment: Record<string, string>): string {
  try {
    readConfig(environment);
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    assert.match(error.message, /^(SIGNET|OTEL)_\w+ .+\S$/s, 'names the setting first');
    assert.ok(!error.message.includes('\n'), 'one line');
    return error.message;
  }
  assert.fail(`accepted: ${JSON.stringify(environment)}`);
}
