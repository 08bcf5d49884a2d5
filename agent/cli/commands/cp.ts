/** `nodeagent cp` */
import { lstat } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { PassThrough } from 'node:stream';
import type { Pod } from '#api/gen/core-v1.ts';
import { CONTAINER_OPTION, NAMESPACE_OPTION } from '../args/pod-options.ts';
import { fetchPods } from '../client/responses.ts';
import { type Command, type CommandContext, defineCommand } from '../command.ts';
import { type CopyPlace, parsePlace, splitPath } from '../containers/copy-paths.ts';
import { extractTar } from '../containers/extract.ts';
import { packTar } from '../containers/pack.ts';
import { runInPod } from '../containers/run-in-pod.ts';
import { CommandError, UsageError } from '../errors.ts';
import { findPod, parsePodName } from '../listing/find-pod.ts';
import { printable } from '../views/table.ts';

export const command: Command = defineCommand({
  name: 'cp',
  summary:
    'Copies a file or directory from or to a container, which needs the program tar. From a container, links and\n' +
    '  devices are not copied.',
  usage: ['[options] POD:PATH LOCAL', '[options] LOCAL POD:PATH'],
  options: {
    container: CONTAINER_OPTION,
    namespace: NAMESPACE_OPTION,
  },
  examples: [
    ['cp web:/etc/nginx ./nginx', 'a directory from a container'],
    ['cp ./index.html web:/srv/', 'a file into a directory of a container'],
  ],
  async run(args, context) {
    const [from, to, ...more] = args.positionals;
    if (from === undefined || to === undefined || more.length > 0) {
      throw new UsageError('cp requires a source and a target: POD:PATH LOCAL, or LOCAL POD:PATH');
    }
    const [source, target] = [parsePlace(from), parsePlace(to)];
    const remote = [source, target].filter((place) => place.kind === 'pod');
    const [place] = remote;
    if (place === undefined || remote.length > 1) throw new UsageError('exactly one side must be POD:PATH');
    const pod = findPod(await fetchPods(context.api), parsePodName(place.pod, args.text('namespace')));
    const side: ContainerSide = { pod, container: args.text('container'), path: place.path };
    if (source.kind === 'pod') await download(side, target, context);
    else await upload(source, side, context);
    return 0;
  },
});

interface ContainerSide {
  readonly pod: Pod;
  readonly container: string | undefined;
  readonly path: string;
}

async function isLocalFolder(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isDirectory();
  } catch {
    return false;
  }
}

/** An existing target directory gets the copy, any other target is its name. */
async function download(
  { pod, container, path }: ContainerSide,
  target: CopyPlace,
  context: CommandContext,
): Promise<void> {
  const { parent, name } = splitPath(path);
  const wanted = resolve(context.cwd, target.path);
  const inside = await isLocalFolder(wanted);
  const folder = inside && name !== '.' ? wanted : dirname(wanted);
  const channel = new PassThrough();
  const stop = new AbortController();
  const extracted = extractTar(channel, {
    folder,
    name: inside && name !== '.' ? name : basename(wanted),
    source: name,
    onSkipped: (entry, why) => context.err.write(`skipped ${printable(entry)}: ${why}\n`),
  });
  extracted.catch((thrown: unknown) => stop.abort(thrown));
  const argv = ['tar', '-cf', '-', '-C', parent, '--', name];
  const write = (chunk: Uint8Array): Promise<void> =>
    new Promise((done, fail) => {
      channel.write(chunk, (error) => (error === null || error === undefined ? done() : fail(error)));
    });
  const ended = runInPod({ pod, container, argv, stdout: write, signal: stop.signal }, context).finally(() =>
    channel.end(),
  );
  const [count, result] = await Promise.allSettled([extracted, ended]);
  if (count.status === 'rejected') throw count.reason;
  if (result.status === 'rejected') throw result.reason;
  const { exitCode, errors } = result.value;
  if (exitCode !== 0 && count.value === 0) throw tarFailure(exitCode, errors);
  if (exitCode !== 0) await context.err.write(`warning: ${printable(errors)}\n`);
}

const tarFailure = (exitCode: number, errors: string): CommandError =>
  new CommandError(`tar in the container failed with exit code ${exitCode}: ${errors}`);

async function upload(source: CopyPlace, side: ContainerSide, context: CommandContext): Promise<void> {
  const { pod, container, path } = side;
  const local = resolve(context.cwd, source.path);
  await lstat(local).catch((cause: unknown) => {
    throw new CommandError(`cannot read ${source.path}`, { cause });
  });
  const test = await runInPod({ pod, container, argv: ['test', '-d', path] }, context).catch(() => undefined);
  const isFolder = test?.exitCode === 0 || path.endsWith('/');
  const { parent, name } = isFolder ? { parent: path, name: basename(local) } : splitPath(path);
  // -o: files belong to the user of the container, not to the owner on this machine.
  const argv = ['tar', '-xof', '-', '-C', parent];
  const stdin = packTar(local, name);
  const { exitCode, errors } = await runInPod({ pod, container, argv, stdin }, context);
  if (exitCode !== 0) throw tarFailure(exitCode, errors);
}
