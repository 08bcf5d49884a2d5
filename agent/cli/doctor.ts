/** `nodeagent doctor`: what this node can do. Asks the agent that runs, and needs none. */
import { release } from 'node:os';
import { formatWait } from '#api/kit/waits.ts';
import { createChecks, examine } from '../doctor/checks.ts';
import { type Finding, isSound } from '../doctor/finding.ts';
import { type AgentAnswer, createMachine, type DoctorSettings } from '../doctor/machine.ts';
import { AGENT_OPTIONS, configOfFlags, isOfAgent, settingRows, splitArguments } from './agent-flags.ts';
import { fetchWaits, isPlainObject, textMember } from './answers.ts';
import { AgentUnreachableError, type LocalApi } from './api-client.ts';
import { type OptionTable, parseArguments, parseChoice } from './arguments.ts';
import { type Command, socketOf } from './command.ts';
import type { CliContext } from './context.ts';
import { findingsText } from './doctor-view.ts';
import { renderHelp } from './help.ts';
import { printable } from './table.ts';

const options = {
  output: { type: 'string', short: 'o', value: 'FORMAT', help: 'json' },
  ...AGENT_OPTIONS,
} as const satisfies OptionTable;

const HELP = {
  name: 'doctor',
  summary:
    'Shows what this node can do: runtime, kernel, and which volume sources it can serve. Needs no agent; one that\n' +
    '  runs is asked for its configuration, or flags of the agent say it. Exits with 1 only where something that is\n' +
    '  configured can’t work.',
  usage: ['[options]', '[options] FLAGS OF THE AGENT…'],
  options,
  examples: [
    ['doctor', 'as the agent that runs is configured, or by default'],
    ['doctor -o json', 'for programs'],
    ['doctor --config /etc/nodeagent/config.yaml', 'as an agent would be'],
  ],
} as const;

const FORMATS = ['json'] as const;

/** Settings by key, as texts. */
type SettingTexts = ReadonlyMap<string, string>;

export const command: Command = {
  name: 'doctor',
  async run(argv, context) {
    const { own, flags } = splitArguments(argv);
    const args = parseArguments(own, options);
    if (args.has('help')) {
      await context.out.write(renderHelp(HELP));
      return 0;
    }
    const output = args.text('output');
    const format = output === undefined ? undefined : parseChoice('--output', output, FORMATS);
    const known = isOfAgent(flags)
      ? await askAgent(context.connect(socketOf(parseArguments(flags, options), context)), context)
      : { agent: STOPPED, settings: await settingsOfFlags(flags, context) };
    if (known.settings === undefined) return 1;
    const findings = await lookAt(known.agent, readSettings(known.settings), context);
    await context.out.write(
      format === 'json' ? `${JSON.stringify({ findings }, undefined, 2)}\n` : findingsText(findings),
    );
    return isSound(findings) ? 0 : 1;
  },
};

async function lookAt(
  agent: AgentAnswer,
  settings: DoctorSettings,
  { clock }: CliContext,
): Promise<readonly Finding[]> {
  const machine = createMachine({
    root: '/',
    settings,
    agent,
    uid: process.getuid?.() ?? 0,
    kernelRelease: release(),
    askRuntime: async (endpoint) => (await import('../doctor/ask-runtime.ts')).askRuntime(endpoint),
    askServer: async (file) => (await import('../doctor/ask-server.ts')).askServer(file),
  });
  return examine(
    machine,
    createChecks(() => clock.now()),
  );
}

const STOPPED: AgentAnswer = { running: false, version: '', waits: [] };

interface Known {
  readonly agent: AgentAnswer;
  /** Undefined where the flags have faults, which were told. */
  readonly settings: SettingTexts | undefined;
}

async function askAgent(api: LocalApi, context: CliContext): Promise<Known> {
  try {
    const [version, settings, waits] = await Promise.all([
      api.json({ path: ['version'], signal: context.signal }),
      api.json({ path: ['config'], signal: context.signal }),
      fetchWaits(api),
    ]);
    const rows = settingRows(settings);
    return {
      agent: {
        running: true,
        version: isPlainObject(version) ? textMember(version, 'version') : '',
        waits: waits.map((wait) => printable(formatWait(wait, context.clock.now()))),
      },
      settings: new Map(rows.map((row) => [textMember(row, 'key'), textMember(row, 'value')])),
    };
  } catch (thrown) {
    if (!(thrown instanceof AgentUnreachableError)) throw thrown;
    return { agent: STOPPED, settings: await settingsOfFlags([], context) };
  }
}

async function settingsOfFlags(
  flags: readonly string[],
  context: CliContext,
): Promise<SettingTexts | undefined> {
  const found = await configOfFlags(flags, context);
  return found === undefined ? undefined : new Map(found.settings.map(({ key, value }) => [key, value]));
}

/** Settings are shown in quotes where one would not see them otherwise. */
function plainText(shown: string): string {
  if (!shown.startsWith('"')) return shown;
  const value: unknown = JSON.parse(shown);
  return typeof value === 'string' ? value : shown;
}

function readSettings(texts: SettingTexts): DoctorSettings {
  const text = (key: string): string => plainText(texts.get(key) ?? '');
  return {
    runtimeEndpoint: text('containerRuntimeEndpoint'),
    rootDir: text('rootDir'),
    podLogsDir: text('podLogsDir'),
    volumePluginDir: text('volumePluginDir'),
    cgroupDriver: text('cgroupDriver'),
    cpuManagerPolicy: text('cpuManagerPolicy'),
    reservesCpus:
      text('reservedSystemCPUs') !== '' ||
      ['systemReserved', 'platReserved'].some((key) => /\bcpu\b/.test(text(key))),
    memoryManagerPolicy: text('memoryManagerPolicy'),
    topologyManagerPolicy: text('topologyManagerPolicy'),
    platconfig: text('platconfig'),
    certDir: text('certDir'),
  };
}
