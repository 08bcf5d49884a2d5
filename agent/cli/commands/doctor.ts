/** `nodeagent doctor`: checks what this node supports. Uses the configuration of a running agent, but does
 *  not need one. */

import { release } from 'node:os';
import { isObject } from '#api/kit/object.ts';
import { formatWait } from '#api/kit/waits.ts';
import { FEATURE_GATES, namedGateEnabled } from '#api/schema/feature-gates.ts';
import { createChecks, examine } from '../../doctor/checks.ts';
import { type Finding, isSound } from '../../doctor/finding.ts';
import { type AgentInfo, createMachine, type DoctorSettings } from '../../doctor/machine.ts';
import { type OptionTable, parseArguments, parseChoice } from '../args/arguments.ts';
import { AgentUnreachableError, type LocalApi } from '../client/api-client.ts';
import { fetchWaits, textMember } from '../client/responses.ts';
import { type Command, socketOf } from '../command.ts';
import type { CliContext } from '../context.ts';
import { renderHelp } from '../help.ts';
import { cellPainter } from '../output/colors.ts';
import {
  AGENT_OPTIONS,
  configOfFlags,
  isOfAgent,
  plainText,
  settingRows,
  splitArguments,
} from '../settings/agent-flags.ts';
import { findingsText } from '../views/doctor-view.ts';
import { printable } from '../views/table.ts';

const options = {
  output: { type: 'string', short: 'o', value: 'FORMAT', help: 'json' },
  ...AGENT_OPTIONS,
} as const satisfies OptionTable;

const HELP = {
  name: 'doctor',
  summary:
    'Checks what this node supports: runtime, kernel and volume sources. Does not need an agent. The configuration is\n' +
    '  that of the running agent, or that of the given agent flags. Exits with 1 only if something that is configured\n' +
    '  cannot work.',
  usage: ['[options]', '[options] FLAGS OF THE AGENT…'],
  options,
  examples: [
    ['doctor', 'check for the running agent, or for the defaults'],
    ['doctor -o json', 'for programs'],
    ['doctor --config /etc/nodeagent/config.yaml', 'check for an agent with this configuration'],
  ],
} as const;

const FORMATS = ['json'] as const;

/** Settings by key, as text. */
type SettingTexts = ReadonlyMap<string, string>;

export const command: Command = {
  name: 'doctor',
  help: HELP,
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
    const findings = await runChecks(known.agent, readSettings(known.settings), context);
    await context.out.write(
      format === 'json'
        ? `${JSON.stringify({ findings }, undefined, 2)}\n`
        : findingsText(findings, cellPainter(context)),
    );
    return isSound(findings) ? 0 : 1;
  },
};

async function runChecks(
  agent: AgentInfo,
  settings: DoctorSettings,
  { clock }: CliContext,
): Promise<readonly Finding[]> {
  const machine = createMachine({
    root: '/',
    settings,
    agent,
    uid: process.getuid?.() ?? 0,
    kernelRelease: release(),
    readRuntimeInfo: async (endpoint) =>
      (await import('../../doctor/runtime-info.ts')).readRuntimeInfo(endpoint),
    readHardware: async () => (await import('../../doctor/hardware/read.ts')).readHardware(),
    readDockerFacts: async (endpoint) =>
      (await import('../../doctor/docker-facts.ts')).readDockerFacts(endpoint),
    readServerInfo: async (file) => (await import('../../doctor/server-info.ts')).readServerInfo(file),
  });
  return examine(
    machine,
    createChecks(() => clock.now()),
  );
}

const STOPPED: AgentInfo = { running: false, version: '', waits: [] };

interface Known {
  readonly agent: AgentInfo;
  /** Undefined for invalid flags, whose errors have been printed. */
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
        version: isObject(version) ? textMember(version, 'version') : '',
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

/** Returns the enabled feature gates. @param shown as JSON; empty or not an object: the defaults */
function gatesOf(shown: string): ReadonlySet<string> {
  const value: unknown = shown.startsWith('{') ? JSON.parse(shown) : {};
  const set = isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([name, on]) => [name, on === true]))
    : {};
  return new Set(FEATURE_GATES.map(({ name }) => name).filter((name) => namedGateEnabled(set, name)));
}

function readSettings(texts: SettingTexts): DoctorSettings {
  const text = (key: string): string => plainText(texts.get(key) ?? '');
  return {
    runtimeEndpoint: text('containerRuntimeEndpoint'),
    dockerEndpoint: text('containerRuntime') === 'docker' ? text('dockerEndpoint') : '',
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
    gates: gatesOf(text('featureGates')),
  };
}
