import { commandLine } from './command-line.ts';

const args = process.argv.slice(2);
const serves = args[0] === 'serve';

// Whoever reads may have had enough, as `head` has; a server goes on without its greeting.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => serves || process.exit(code === 'EPIPE' ? 0 : 1));

const code = await commandLine(args, process);
if (code !== undefined) process.exitCode = code;
if (code && serves) process.exit(code); // what it had opened before it failed would keep it alive
