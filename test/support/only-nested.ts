/**
 * Loaded before a test file by `test-one.ts`: of the nested cases only those run whose names contain TEST_ONLY_NESTED,
 * with all that is in them, and those that lead to one.
 */
import { beforeEach, type TestContext } from 'node:test';

type Body = (t: TestContext) => unknown;

const wanted = process.env.TEST_ONLY_NESTED;
let isPatched = false;

if (wanted !== undefined) {
  const chosen = new WeakSet<TestContext>();
  beforeEach((t) => {
    if (isPatched) return;
    isPatched = true;
    const context = Object.getPrototypeOf(t) as TestContext; // Node hands out no other way to the class
    const register = context.test;
    context.test = async function (this: TestContext, ...args: unknown[]) {
      const [name, body] = [String(args[0]), args.at(-1) as Body];
      const isChosen = chosen.has(this) || name.includes(wanted);
      if (!isChosen && !String(body).includes(wanted)) return;
      const chooseToo: Body = (t) => {
        if (isChosen) chosen.add(t);
        return body(t);
      };
      await Reflect.apply(register, this, [...args.slice(0, -1), chooseToo]);
    } as typeof register;
  });
}
