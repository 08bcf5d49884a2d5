/** `nodeagent delete` */

import { type Arguments, parseCount } from '../args/arguments.ts';
import { ApiError } from '../client/api-client.ts';
import { fetchPods } from '../client/responses.ts';
import { type Command, type CommandContext, defineCommand } from '../command.ts';
import { CommandError, UsageError } from '../errors.ts';
import { findPod } from '../listing/find-pod.ts';
import { followPods } from '../listing/watch-pods.ts';
import type { ObjectName } from '../manifests/objects.ts';
import { MANIFEST_OPTIONS, readManifests, selectionOf } from '../manifests/read.ts';
import { podSource } from '../views/pod-rows.ts';
import { printable } from '../views/table.ts';
import { type ManifestTargets, manifestTargets, namedTargets, selectedTargets } from './delete-targets.ts';

const options = {
  ...MANIFEST_OPTIONS,
  selector: { type: 'string', short: 'l', value: 'SELECTOR', help: 'applied objects with these labels' },
  'field-selector': { type: 'string', value: 'SELECTOR', help: 'applied objects with these fields' },
  all: { type: 'boolean', help: 'all applied objects of the types' },
  namespace: { type: 'string', short: 'n', value: 'NAME', help: 'namespace of the objects (default)' },
  'grace-period': {
    type: 'string',
    value: 'SECONDS',
    help: 'time given to each pod to terminate gracefully',
  },
  now: { type: 'boolean', help: 'shorthand for a grace period of one second' },
  wait: { type: 'boolean', help: 'wait until the pods have been deleted' },
  'ignore-not-found': { type: 'boolean', help: 'treat a missing object as success' },
} as const;

type DeleteArguments = Arguments<keyof typeof options>;

export const command: Command = defineCommand({
  name: 'delete',
  summary: 'Deletes pods and objects that were applied.',
  usage: [
    'TYPE NAME… [options]',
    'TYPE/NAME… [options]',
    'TYPE[,TYPE…] -l SELECTOR|--all [options]',
    '-f FILE|DIRECTORY|URL|- [options]',
  ],
  options,
  examples: [
    ['delete pod web', 'end a pod'],
    ['delete -f web.yaml --wait', 'delete every object of a manifest and wait for it'],
    ['delete pods,configmaps -l app=web', 'the applied objects with a label'],
    ['delete pod/web --grace-period 5', 'with a grace period of five seconds'],
  ],
  async run(args, context) {
    const grace = gracePeriod(args);
    const names = args.texts('filename');
    const { targets, nameless } =
      names.length > 0
        ? await fileTargets(args, context)
        : { targets: await operandTargets(args, context), nameless: [] };
    const waits = args.has('wait') ? await podUIDs(targets, context) : new Set<string>();
    let allGood = nameless.length === 0;
    for (const place of nameless) await context.err.write(`${printable(place)}: identifies no object\n`);
    for (const target of targets) allGood = (await deleteOne(target, grace, args, context)) && allGood;
    if (waits.size > 0) await untilGone(waits, context);
    return allGood ? 0 : 1;
  },
});

/** @throws UsageError */
function gracePeriod(args: DeleteArguments): number | undefined {
  const seconds = parseCount('--grace-period', args.text('grace-period'));
  if (!args.has('now')) return seconds;
  if (seconds !== undefined) throw new UsageError('use either --now or --grace-period');
  return 1;
}

/** @throws UsageError */
async function operandTargets(
  args: DeleteArguments,
  { api, signal, out }: CommandContext,
): Promise<readonly ObjectName[]> {
  const namespace = args.text('namespace');
  const labels = args.text('selector');
  const fields = args.text('field-selector');
  const isSelective = labels !== undefined || fields !== undefined;
  if (!isSelective && !args.has('all')) return namedTargets(args.positionals, namespace);
  if (isSelective && args.has('all')) throw new UsageError('use either --all or a selector');
  const selected = await selectedTargets(api, args.positionals, { namespace, labels, fields }, signal);
  if (selected.length === 0) await out.write('nothing applied is selected\n');
  return selected;
}

/** Collects the targets of all files. @throws UsageError, CommandError */
async function fileTargets(args: DeleteArguments, context: CommandContext): Promise<ManifestTargets> {
  const isSelective = args.text('selector') !== undefined || args.text('field-selector') !== undefined;
  if (args.positionals.length > 0 || isSelective || args.has('all')) {
    throw new UsageError('use either -f FILE or TYPE and NAME');
  }
  const targets: ObjectName[] = [];
  const nameless: string[] = [];
  for await (const manifest of readManifests(selectionOf(args), context)) {
    const found = await manifestTargets(manifest, context.signal);
    targets.push(...found.targets);
    nameless.push(...found.nameless);
  }
  return { targets, nameless };
}

const shown = ({ kind, name }: ObjectName): string => printable(`${kind.toLowerCase()}/${name}`);

/** @returns whether the object existed, or was allowed to be missing */
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
    await api.json({ method: 'DELETE', path: [kind, namespace || '-', name], query, signal });
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

/** Explains why an object cannot be deleted: it comes from another source, or does not exist. */
async function whyNot(target: ObjectName, { api }: CommandContext): Promise<string> {
  const nothing = `no object with this name was applied in namespace ${target.namespace}`;
  if (target.kind !== 'Pod') return `${nothing}; to remove an object of a manifest file, delete the file`;
  try {
    const source = podSource(findPod(await fetchPods(api), target));
    return source === 'socket'
      ? nothing
      : `this pod comes from the source "${source}", not from apply: remove its manifest there`;
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
      // A pod of another source will not be deleted; do not wait for it.
      .filter((pod) => podSource(pod) === 'socket')
      .flatMap(({ metadata }) => metadata?.uid ?? []),
  );
}

/** A pod deleted before the watch began is missing from the initial ADDED events. */
async function untilGone(uids: ReadonlySet<string>, { api, signal }: CommandContext): Promise<void> {
  const stop = new AbortController();
  const there = new Set<string>();
  let isListed = false;
  try {
    for await (const change of followPods(api, AbortSignal.any([signal, stop.signal]))) {
      if (change.type === 'BOOKMARK') isListed = true;
      else if (change.type === 'DELETED') there.delete(change.pod.metadata?.uid ?? '');
      else there.add(change.pod.metadata?.uid ?? '');
      if (isListed && uids.isDisjointFrom(there)) return;
    }
  } finally {
    stop.abort(new Error('deletion of the pods'));
  }
}
