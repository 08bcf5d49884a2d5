/** `nodeagent edit` */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, extname, join, resolve } from 'node:path';
import { formatYaml } from '#api/codec/yaml.ts';
import { formatFieldError } from '#api/meta/field-error.ts';
import { fetchPods } from '../client/responses.ts';
import { type Command, type CommandContext, defineCommand } from '../command.ts';
import { CommandError, UsageError } from '../errors.ts';
import { findPod } from '../listing/find-pod.ts';
import { findApplied, findOrigin } from '../manifests/applied.ts';
import { applyText } from '../manifests/apply-text.ts';
import { type ObjectName, readObjects, vocabularyOf } from '../manifests/objects.ts';
import { printable } from '../views/table.ts';
import { namedTargets } from './delete-targets.ts';

export const command: Command = defineCommand({
  name: 'edit',
  summary:
    'Opens the manifest of an object in an editor (VISUAL, EDITOR or vi) and applies it: of an applied object, or the\n' +
    '  manifest file that the object comes from. An invalid manifest changes nothing.',
  usage: ['TYPE NAME [options]', 'TYPE/NAME [options]', '-f FILE'],
  options: {
    filename: { type: 'string', short: 'f', value: 'FILE', help: 'edit and check this manifest file' },
    namespace: { type: 'string', short: 'n', value: 'NAME', help: 'namespace of the object (default)' },
  },
  examples: [
    ['edit pod web', 'change a pod'],
    [
      'edit -f /etc/nodeagent/manifests/web.yaml',
      'change a manifest file; it is replaced only if it is valid',
    ],
  ],
  async run(args, context) {
    const file = args.text('filename');
    if (file !== undefined) {
      if (args.positionals.length > 0) throw new UsageError('use either -f FILE or TYPE and NAME');
      return editFile(resolve(context.cwd, file), context);
    }
    const [target, ...others] = namedTargets(args.positionals, args.text('namespace'));
    if (target === undefined || others.length > 0) throw new UsageError('edit requires one object');
    return editObject(await fullName(target, context), context);
  },
});

/** A static pod may be given without the suffix of the node. */
async function fullName(target: ObjectName, { api }: CommandContext): Promise<ObjectName> {
  if (target.kind !== 'Pod') return target;
  const { metadata } = findPod(await fetchPods(api), target);
  return { ...target, name: metadata?.name ?? target.name };
}

async function editObject(target: ObjectName, context: CommandContext): Promise<number> {
  const { api, signal } = context;
  const origin = await findOrigin(api, target, signal);
  if (origin?.source === 'file') return editFile(origin.location, context);
  if (origin !== undefined && origin.source !== 'socket') {
    throw new CommandError(
      `${target.kind} ${target.name} comes from the source "${origin.source}": change it there`,
    );
  }
  if (target.kind === 'Secret') {
    throw new CommandError('a Secret cannot be edited, since its content is not exposed: apply its manifest');
  }
  const { manifest } = await findApplied(api, target, signal);
  const before = formatYaml(manifest);
  return withEdited(before, '.yaml', context, async (text, path) => {
    const { allGood } = await applyText({ name: path, text }, 'apply', context);
    return allGood;
  });
}

/** Replaces the file atomically; it retains its owner and mode. */
async function editFile(path: string, context: CommandContext): Promise<number> {
  const before = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new CommandError(`cannot read ${path}`, { cause });
  });
  return withEdited(before, extname(path), context, async (text, edited) => {
    if (!(await checkText(edited, text, context))) return false;
    const { mode, uid, gid } = await stat(path);
    const next = join(dirname(path), `.${process.pid}.nodeagent-edit`);
    await writeFile(next, text, { mode: 0o600, flag: 'wx' });
    await chown(next, uid, gid);
    await chmod(next, mode & 0o777);
    await rename(next, path);
    await context.out.write(`${printable(path)} saved\n`);
    return true;
  });
}

async function checkText(name: string, text: string, context: CommandContext): Promise<boolean> {
  const { signal, clock, err } = context;
  const objects = await readObjects({ name, text }, vocabularyOf(undefined), { signal, nowMs: clock.now() });
  for (const { place, identity, errors } of objects) {
    for (const error of errors) {
      await err.write(`${printable(`${place}: ${identity}: ${formatFieldError(error)}`)}\n`);
    }
  }
  return objects.length > 0 && objects.every(({ errors }) => errors.length === 0);
}

/** Edits the text in a private file. A rejected text remains there. */
async function withEdited(
  before: string,
  extension: string,
  { env, out, err }: CommandContext,
  accept: (text: string, path: string) => Promise<boolean>,
): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'nodeagent-edit-'));
  const path = join(folder, `manifest${extension}`);
  let isDone = true;
  try {
    await writeFile(path, before, { mode: 0o600 });
    await runEditor(env, path);
    const text = await readFile(path, 'utf8');
    if (text === before) {
      await out.write('not changed\n');
      return 0;
    }
    isDone = await accept(text, path);
    if (!isDone) await err.write(`nothing was changed; your text is in ${path}\n`);
    return isDone ? 0 : 1;
  } finally {
    if (isDone) await rm(folder, { recursive: true, force: true });
  }
}

/** @throws CommandError */
async function runEditor(env: CommandContext['env'], path: string): Promise<void> {
  const words = (env['VISUAL'] || env['EDITOR'] || 'vi').split(/\s+/).filter((word) => word !== '');
  const [program = 'vi', ...args] = words;
  const child = spawn(program, [...args, path], { stdio: 'inherit' });
  const ended = await once(child, 'exit').catch((cause: unknown) => {
    throw new CommandError(`cannot start the editor ${program}: set EDITOR`, { cause });
  });
  if (ended[0] !== 0) throw new CommandError(`the editor ${program} failed; nothing was changed`);
}
