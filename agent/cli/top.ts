/** `nodeagent top` */
import { availableParallelism } from 'node:os';
import { sleep } from '#api/kit/clock.ts';
import { decode } from '#api/schema/decode.ts';
import type { Summary } from '#api/schema/gen/stats-v1alpha1.ts';
import { isPlainObject } from './answers.ts';
import type { LocalApi } from './api-client.ts';
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
    const options: TopOptions = {
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
      const lines = topLines(await fetchSummary(api, signal), options, clock.now());
      await out.write(`${lines.join('\n')}\n`);
      if (!args.has('watch')) return 0;
      await sleep(clock, intervalMs, signal);
      await out.write('\n');
    }
  },
});

/** Until the signal fires. */
async function showLive(
  { out, api, clock, signal }: CommandContext,
  options: TopOptions,
  intervalMs: number,
): Promise<void> {
  await out.write(`${HIDE_CURSOR}${CLEAR}`);
  try {
    for (;;) {
      const lines = topLines(await fetchSummary(api, signal), options, clock.now());
      await out.write(screenOf(lines, out.terminal?.() ?? { columns: 80, rows: 24 }));
      await sleep(clock, intervalMs, signal);
    }
  } finally {
    await out.write(SHOW_CURSOR);
  }
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
