/** `nodeagent wait` */
import type { Pod } from '#api/gen/core-v1.ts';
import { parseSeconds } from '../args/duration.ts';
import { fetchPods } from '../client/responses.ts';
import { type Command, type CommandContext, defineCommand } from '../command.ts';
import { CommandError, UsageError } from '../errors.ts';
import { findPod, parsePodName } from '../listing/find-pod.ts';
import { parseTargets } from '../listing/targets.ts';
import { followPods } from '../listing/watch-pods.ts';
import { createSelector } from '../output/select.ts';
import { printable } from '../views/table.ts';
import { meets, parseWaitCondition, type WaitCondition } from './wait-condition.ts';

const DEFAULT_TIMEOUT = '30s';

export const command: Command = defineCommand({
  name: 'wait',
  summary: 'Waits until pods meet a condition. Exits with 1 after the timeout.',
  usage: ['--for=CONDITION pod NAME… [options]', '--for=CONDITION pods -l SELECTOR|--all [options]'],
  options: {
    for: {
      type: 'string',
      value: 'CONDITION',
      help: "condition=Ready[=false], delete, create, or jsonpath='{.status.phase}'=Succeeded",
    },
    selector: { type: 'string', short: 'l', value: 'SELECTOR', help: 'pods with these labels' },
    'field-selector': { type: 'string', value: 'SELECTOR', help: 'pods with these fields' },
    all: { type: 'boolean', help: 'all pods of the namespace' },
    namespace: { type: 'string', short: 'n', value: 'NAME', help: 'namespace of the pods (default)' },
    timeout: {
      type: 'string',
      value: 'DURATION',
      help: `time to wait; 0 checks once (${DEFAULT_TIMEOUT})`,
    },
  },
  examples: [
    ['wait --for=condition=Ready pod web --timeout=2m', 'until a pod is ready'],
    [`wait --for=jsonpath='{.status.phase}'=Succeeded pod job`, 'until a pod has succeeded'],
    ['wait --for=delete pods -l app=web', 'until the pods with a label are gone'],
  ],
  async run(args, context) {
    const condition = parseWaitCondition(args.text('for'));
    const seconds = parseSeconds('--timeout', args.text('timeout') ?? DEFAULT_TIMEOUT);
    const wanted = await wantedPods(
      {
        operands: args.positionals,
        namespace: args.text('namespace'),
        labels: args.text('selector'),
        fields: args.text('field-selector'),
        all: args.has('all'),
        mayBeMissing: condition.kind !== 'fields',
      },
      context,
    );
    await waitFor(condition, wanted, seconds * 1000, context);
    return 0;
  },
});

interface Selection {
  readonly operands: readonly string[];
  readonly namespace: string | undefined;
  readonly labels: string | undefined;
  readonly fields: string | undefined;
  readonly all: boolean;
  readonly mayBeMissing: boolean;
}

const identityOf = ({ metadata }: Pod): string => `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`;

/** Returns `namespace/name` of the pods. @throws UsageError, CommandError */
async function wantedPods(selection: Selection, { api }: CommandContext): Promise<readonly string[]> {
  const { operands, namespace, labels, fields, all, mayBeMissing } = selection;
  const [target, ...others] = parseTargets(operands);
  if (target === undefined || others.length > 0 || target.kind !== 'Pod') {
    throw new UsageError('wait supports only pods');
  }
  const isSelective = labels !== undefined || fields !== undefined || all;
  if (isSelective === target.names.length > 0) {
    throw new UsageError('wait requires either names, a selector, or --all');
  }
  const pods = await fetchPods(api);
  if (!isSelective) {
    return target.names.map((text) => {
      const name = parsePodName(text, namespace);
      try {
        return identityOf(findPod(pods, name));
      } catch (thrown) {
        if (mayBeMissing && thrown instanceof CommandError) return `${name.namespace}/${name.name}`;
        throw thrown;
      }
    });
  }
  const isSelected = createSelector('Pod', { labels, fields });
  const found = pods
    .filter(({ metadata }) => namespace === undefined || metadata?.namespace === namespace)
    .filter(isSelected)
    .map(identityOf);
  if (found.length === 0 && !mayBeMissing) throw new CommandError('no pods are selected');
  return found;
}

/** @throws CommandError when the time is over, naming the pods */
async function waitFor(
  condition: WaitCondition,
  wanted: readonly string[],
  timeoutMs: number,
  { api, out, clock, signal }: CommandContext,
): Promise<void> {
  const left = new Set(wanted);
  const limit = new AbortController();
  const timer =
    timeoutMs > 0 ? clock.setTimer(() => limit.abort(new Error('timeout')), timeoutMs) : undefined;
  const report = async (name: string): Promise<void> => {
    left.delete(name);
    await out.write(`pod/${printable(name.split('/')[1] ?? '')} ${condition.met}\n`);
  };
  const known = new Set<string>();
  try {
    for await (const change of left.size === 0
      ? []
      : followPods(api, AbortSignal.any([signal, limit.signal]))) {
      if (change.type === 'BOOKMARK') {
        if (condition.kind === 'delete') for (const name of left) if (!known.has(name)) await report(name);
        if (timeoutMs === 0) break;
      } else {
        const name = identityOf(change.pod);
        known.add(name);
        const isDeleted = change.type === 'DELETED';
        if (left.has(name) && meets(condition, isDeleted ? undefined : change.pod)) await report(name);
        else if (isDeleted && left.has(name) && condition.kind === 'fields') {
          throw new CommandError(`pod ${name} was deleted`);
        }
      }
      if (left.size === 0) break;
    }
  } catch (thrown) {
    if (!limit.signal.aborted || signal.aborted) throw thrown;
  } finally {
    timer?.cancel();
    limit.abort(new Error('end of the wait'));
  }
  if (left.size > 0) throw new CommandError(`timed out waiting for ${[...left].sort().join(', ')}`);
}
