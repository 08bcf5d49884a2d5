/** `nodeagent get -w`: the objects, followed by each change. */
import type { Pod } from '#api/gen/core-v1.ts';
import { fetchPods } from '../client/responses.ts';
import type { CommandContext } from '../command.ts';
import { UsageError } from '../errors.ts';
import { printObjects } from '../output/print.ts';
import { createSelector } from '../output/select.ts';
import { findPod, parsePodName } from './find-pod.ts';
import { podTable } from './lists.ts';
import type { ListOptions } from './options.ts';
import type { GetTarget } from './targets.ts';
import { followEvents, printEventTable } from './watch-events.ts';
import { followPods, watchPodTable } from './watch-pods.ts';

/** Runs until the signal fires. @throws UsageError for a type that cannot be watched */
export async function watchListed(
  targets: readonly GetTarget[],
  options: ListOptions,
  context: CommandContext,
): Promise<void> {
  const [target, ...others] = targets;
  if (target === undefined || others.length > 0) throw new UsageError('--watch supports a single type');
  switch (target.kind) {
    case 'Pod':
      await watchPods(target, options, context);
      return;
    case 'Event':
      await watchEvents(target, options, context);
      return;
    default:
      throw new UsageError(`--watch supports pods and events, not ${target.kind} objects`);
  }
}

async function watchPods(
  { kind, names }: GetTarget,
  options: ListOptions,
  context: CommandContext,
): Promise<void> {
  const { namespace, format, headings } = options;
  const isSelected = createSelector(kind, options.selectors);
  const wanted = await namesOfPods(names, namespace, context);
  const isWanted = (pod: Pod): boolean =>
    (wanted === undefined || wanted.has(identityOf(pod))) &&
    (namespace === undefined || wanted !== undefined || pod.metadata?.namespace === namespace) &&
    isSelected(pod);
  if (format.kind === 'table') {
    await watchPodTable(context, podTable(options), isWanted, headings);
    return;
  }
  let first = true;
  for await (const change of followPods(context.api, context.signal)) {
    if (change.type === 'BOOKMARK' || !isWanted(change.pod)) continue;
    await printObjects(context.out, format, [change.pod], { single: true, headings: headings && first });
    first = false;
  }
}

const identityOf = ({ metadata }: Pod): string => `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`;

/** Undefined for all pods. @throws CommandError when a pod does not exist */
async function namesOfPods(
  names: readonly string[],
  namespace: string | undefined,
  { api }: CommandContext,
): Promise<ReadonlySet<string> | undefined> {
  if (names.length === 0) return undefined;
  const pods = await fetchPods(api);
  return new Set(names.map((name) => identityOf(findPod(pods, parsePodName(name, namespace)))));
}

async function watchEvents(
  { kind, names }: GetTarget,
  { namespace, format, headings, selectors }: ListOptions,
  context: CommandContext,
): Promise<void> {
  const isSelected = createSelector(kind, selectors);
  const events = followEvents(
    context,
    { namespace },
    (event) => isSelected(event) && (names.length === 0 || names.includes(event.metadata.name ?? '')),
  );
  if (format.kind === 'table') {
    await printEventTable(context, events, headings);
    return;
  }
  let first = true;
  for await (const event of events) {
    await printObjects(context.out, format, [event], { single: true, headings: headings && first });
    first = false;
  }
}
