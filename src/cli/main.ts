import { version } from '../platform/config.ts';

const args = process.argv.slice(2);
const serves = args[0] === 'serve';

// The reader may close the pipe, as `head` does; a server continues.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => serves || process.exit(code === 'EPIPE' ? 0 : 1));

void main();

async function main(): Promise<void> {
  const code = args[0] === '--version' ? printVersion() : await runCommand();
  if (code !== undefined) process.exitCode = code;
  if (code && serves) process.exit(code); // what it has opened would keep the process running
}

/** Without the commands, whose loading takes longer than Node itself. */
function printVersion(): number {
  process.stdout.write(`${version}\n`);
  return 0;
}

async function runCommand(): Promise<number | undefined> {
  const { commandLine } = await import('./command-line.ts');
  return commandLine(args, process);
}
