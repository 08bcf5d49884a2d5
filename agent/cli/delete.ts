/** `nodeagent delete` */
import { fetchPods } from './answers.ts';
import { ApiError } from './api-client.ts';
import { type Arguments, parseCount } from './arguments.ts';
import { type Command, type CommandContext, defineCommand } from './command.ts';
import { type ManifestTargets, manifestTargets, namedTargets, type ObjectName } from './delete-targets.ts';
import { CommandError, UsageError } from './errors.ts';
import { findPod } from './find-pod.ts';
import { readManifests } from './manifest-files.ts';
import { podSource } from './pod-rows.ts';
import { printable } from './table.ts';
import { followPods } from './watch-pods.ts';

const options = {
  filename: {
    type: 'string',
    short: 'f',
    multiple: true,
    value: 'FILE',
    help: 'what this manifest holds, or directory, or - for standard input',
  },
  recursive: { type: 'boolean', short: 'R', help: 'also directories within directories' },
  namespace: { type: 'string', short: 'n', value: 'NAME', help: 'the objects’ namespace (default)' },
  'grace-period': {
    type: 'string',
    value: 'SECONDS',
    help: 'time for a pod’s containers to end by themselves',
  },
  now: { type: 'boolean', help: 'a grace period of one second' },
  wait: { type: 'boolean', help: 'return when the pods are gone' },
  'ignore-not-found': { type: 'boolean', help: 'what is not there is no failure' },
} as const;

type DeleteArguments = Arguments<keyof typeof options>;

export const command: Command = defineCommand({
  name: 'delete',
  summary: 'Ends pods and removes objects that were applied.',
  usage: ['TYPE NAME… [options]', 'TYPE/NAME… [options]', '-f FILE|DIRECTORY|- [options]'],
  options,
  examples: [
    ['delete pod web', 'end a pod'],
    ['delete -f web.yaml --wait', 'everything of a manifest, and wait until it is gone'],
    ['delete pod/web --grace-period 5', 'give it five seconds'],
  ],
  async run(args, context) {
    const grace = gracePeriod(args);
    const names = args.texts('filename');
    const { targets, nameless } =
      names.length > 0
        ? await fileTargets(args, names, context)
        : { targets: namedTargets(args.positionals, args.text('namespace')), nameless: [] };
    const waits = args.has('wait') ? await podUIDs(targets, context) : new Set<string>();
    let allGood = nameless.length === 0;
    for (const place of nameless) await context.err.write(`${printable(place)}: names no object\n`);
    for (const target of targets) allGood = (await deleteOne(target, grace, args, context)) && allGood;
    if (waits.size > 0) await untilGone(waits, context);
    return allGood ? 0 : 1;
  },
});

/** @throws UsageError */
function gracePeriod(args: DeleteArguments): number | undefined {
  const seconds = parseCount('--grace-period', args.text('grace-period'));
  if (!args.has('now')) return seconds;
  if (seconds !== undefined) throw new UsageError('give either --now or --grace-period');
  return 1;
}

/** Of all the files together. @throws UsageError, CommandError */
async function fileTargets(
  args: DeleteArguments,
  names: readonly string[],
  context: CommandContext,
): Promise<ManifestTargets> {
  if (args.positionals.length > 0) throw new UsageError('give either -f FILE or TYPE and NAME');
  const targets: ObjectName[] = [];
  const nameless: string[] = [];
  for await (const manifest of readManifests(names, args.has('recursive'), context)) {
    const found = await manifestTargets(manifest, context.signal);
    targets.push(...found.targets);
    nameless.push(...found.nameless);
  }
  return { targets, nameless };
}

const shown = ({ kind, name }: ObjectName): string => printable(`${kind.toLowerCase()}/${name}`);

/** @returns whether it was there, or did not have to be */
async function deleteOne(
  target: ObjectName,
  grace: number | undefined,
  args: DeleteArguments,
  context: CommandContext,
): Promise<boolean> {
  const { api, out, err, signal } = context;
  const { kind, namespace, name } = target;
  const query = kind === 'Pod' && grace !== undefined ? { gracePeriodSeconds: String(grace) } : {};
  try {
    await api.json({ method: 'DELETE', path: [kind, namespace, name], query, signal });
    await out.write(`${shown(target)} deleted\n`);
    return true;
  } catch (thrown) {
    if (thrown instanceof ApiError && thrown.status === 409) {
      await err.write(`${shown(target)}: ${printable(thrown.message)}\n`);
      return false;
    }
    if (!(thrown instanceof ApiError) || thrown.status !== 404) throw thrown;
    if (args.has('ignore-not-found')) return true;
    await err.write(`${shown(target)}: ${await whyNot(target, context)}\n`);
    return false;
  }
}

/** Why an object cannot be deleted: it comes from elsewhere, or is not there at all. */
async function whyNot(target: ObjectName, { api }: CommandContext): Promise<string> {
  const nothing = `nothing of this name was applied in namespace ${target.namespace}`;
  if (target.kind !== 'Pod') return `${nothing}; an object of a manifest file goes with its file`;
  try {
    const source = podSource(findPod(await fetchPods(api), target));
    return source === 'socket'
      ? nothing
      : `this pod comes from the source "${source}", not from apply: take its manifest away there`;
  } catch (thrown) {
    if (thrown instanceof CommandError) return thrown.message;
    throw thrown;
  }
}

async function podUIDs(targets: readonly ObjectName[], { api }: CommandContext): Promise<Set<string>> {
  const names = new Set(
    targets.filter(({ kind }) => kind === 'Pod').map(({ namespace, name }) => `${namespace}/${name}`),
  );
  const pods = await fetchPods(api);
  return new Set(
    pods
      .filter(({ metadata }) => names.has(`${metadata?.namespace}/${metadata?.name}`))
      // A pod of another source will not go, and is not waited for.
      .filter((pod) => podSource(pod) === 'socket')
      .flatMap(({ metadata }) => metadata?.uid ?? []),
  );
}

/** A pod that was gone before the watch began is missing among those that it begins with. */
async function untilGone(uids: ReadonlySet<string>, { api, signal }: CommandContext): Promise<void> {
  const stop = new AbortController();
  const there = new Set<string>();
  let told = false;
  try {
    for await (const change of followPods(api, AbortSignal.any([signal, stop.signal]))) {
      if (change.type === 'BOOKMARK') told = true;
      else if (change.type === 'DELETED') there.delete(change.pod.metadata?.uid ?? '');
      else there.add(change.pod.metadata?.uid ?? '');
      if (told && uids.isDisjointFrom(there)) return;
    }
  } finally {
    stop.abort(new Error('the pods are gone'));
  }
}
