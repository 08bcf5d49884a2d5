/** `nodeagent top` */
import { availableParallelism } from 'node:os';
import { sleep } from '#api/kit/clock.ts';
import { decode } from '#api/schema/decode.ts';
import type { Summary } from '#api/schema/gen/stats-v1alpha1.ts';
import { isPlainObject } from './answers.ts';
import { ApiError, type LocalApi } from './api-client.ts';
import { parseChoice } from './arguments.ts';
import { type Command, type CommandContext, defineCommand } from './command.ts';
import { parseSeconds } from './duration.ts';
import { UsageError } from './errors.ts';
import { SORT_KEYS, screenOf, type TopOptions, topLines } from './top-view.ts';

const DEFAULT_INTERVAL = '2s';
const HIDE_CURSOR = '\u001B[?25l';
const SHOW_CURSOR = '\u001B[?25h';
const CLEAR = '\u001B[2J';

export const command: Command = defineCommand({
  name: 'top',
  summary:
    'Shows what the node and its pods use: live in a terminal, else once. Marks in the gauges (!) are where\n' +
    '  eviction begins.',
  usage: ['[options]'],
  options: {
    namespace: { type: 'string', short: 'n', value: 'NAME', help: 'only pods of this namespace' },
    sort: { type: 'string', value: 'KEY', help: 'cpu, memory, storage or name (cpu)' },
    containers: { type: 'boolean', help: 'a line for each container too' },
    interval: { type: 'string', value: 'DURATION', help: `time between two looks (${DEFAULT_INTERVAL})` },
    once: { type: 'boolean', help: 'once, in a terminal too' },
    watch: { type: 'boolean', short: 'w', help: 'again and again, without a terminal too' },
  },
  examples: [
    ['top', 'the pods that work most, live'],
    ['top --sort memory --containers', 'who has the memory'],
    ['top | head -12', 'plain lines, once'],
  ],
  async run(args, context) {
    if (args.positionals.length > 0) throw new UsageError('top takes no names');
    const { out, api, clock, signal } = context;
    const sort = args.text('sort');
    const seconds = parseSeconds('--interval', args.text('interval') ?? DEFAULT_INTERVAL);
    const intervalMs = Math.max(1, seconds) * 1000;
    const options: Omit<TopOptions, 'conditions'> = {
      cores: availableParallelism(),
      thresholds: await fetchThresholds(api),
      sort: sort === undefined ? 'cpu' : parseChoice('--sort', sort, SORT_KEYS),
      namespace: args.text('namespace'),
      containers: args.has('containers'),
    };
    if (out.terminal !== undefined && !args.has('once')) {
      await showLive(context, options, intervalMs);
      return 0;
    }
    for (;;) {
      const lines = await look(context, options);
      await out.write(`${lines.join('\n')}\n`);
      if (!args.has('watch')) return 0;
      await sleep(clock, intervalMs, signal);
      await out.write('\n');
    }
  },
});

/** Until the signal fires. */
async function showLive(
  context: CommandContext,
  options: Omit<TopOptions, 'conditions'>,
  intervalMs: number,
): Promise<void> {
  const { out, clock, signal } = context;
  await out.write(`${HIDE_CURSOR}${CLEAR}`);
  try {
    for (;;) {
      await out.write(screenOf(await look(context, options), sizeOf(out.terminal?.())));
      await sleep(clock, intervalMs, signal);
    }
  } finally {
    await out.write(SHOW_CURSOR);
  }
}

/** Terminals that don't know their size say that it is nothing. */
const sizeOf = (size: { columns: number; rows: number } | undefined) => ({
  columns: size?.columns || 80,
  rows: size?.rows || 24,
});

/** @throws AgentUnreachableError, ApiError */
async function look(
  { api, clock, signal }: CommandContext,
  options: Omit<TopOptions, 'conditions'>,
): Promise<readonly string[]> {
  const [summary, conditions] = await Promise.all([fetchSummary(api, signal), fetchConditions(api, signal)]);
  return topLines(summary, { ...options, conditions }, clock.now());
}

/** What the node is short of; nothing where an older agent doesn't tell. */
async function fetchConditions(api: LocalApi, signal: AbortSignal): Promise<readonly string[]> {
  const answer = await api.json({ path: ['pressure'], signal }).catch((thrown: unknown) => {
    if (thrown instanceof ApiError) return {};
    throw thrown;
  });
  const conditions: unknown = isPlainObject(answer) ? answer['conditions'] : undefined;
  return Array.isArray(conditions) ? conditions.filter((one) => typeof one === 'string') : [];
}

/** @throws AgentUnreachableError, ApiError */
async function fetchSummary(api: LocalApi, signal: AbortSignal): Promise<Summary> {
  const answer = await api.json({ path: ['stats', 'summary'], signal });
  const lenient = { unknownFields: 'ignore', missingFields: 'ignore' } as const;
  return decode<Summary>('stats/v1alpha1.Summary', answer, lenient).value;
}

/** Those at which the agent evicts at once, by signal. */
async function fetchThresholds(api: LocalApi): Promise<Readonly<Record<string, string>>> {
  const answer = await api.json({ path: ['configz'] });
  const [config] = isPlainObject(answer) ? Object.values(answer) : [];
  const hard = isPlainObject(config) ? config['evictionHard'] : undefined;
  const pairs = isPlainObject(hard) ? Object.entries(hard) : [];
  return Object.fromEntries(
    pairs.flatMap(([signal, limit]): readonly [string, string][] =>
      typeof limit === 'string' ? [[signal, limit]] : [],
    ),
  );
}
