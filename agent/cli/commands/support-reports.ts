/** Collects what the agent reports, for a support bundle. A part that fails is its error. */
import { asError } from '#api/kit/errno.ts';
import type { CommandContext } from '../command.ts';
import { settingRows } from '../settings/agent-flags.ts';
import { command as doctor } from './doctor.ts';

export interface Report {
  readonly name: string;
  readonly value: unknown;
}

const PATHS: readonly (readonly [name: string, path: readonly string[]])[] = [
  ['version.json', ['version']],
  ['pods.json', ['pods']],
  ['events.json', ['events']],
  ['waits.json', ['waits']],
  ['manifest-problems.json', ['manifests', 'problems']],
  ['pressure.json', ['pressure']],
  ['stats.json', ['stats', 'summary']],
];

export async function collectReports(context: CommandContext): Promise<readonly Report[]> {
  const { api, signal } = context;
  const reports = await Promise.all([
    ...PATHS.map(([name, path]) => report(name, () => api.json({ path, signal }))),
    report('config.json', async () => settingsOf(await api.json({ path: ['config'], signal }))),
    report('doctor.json', () => doctorFindings(context)),
  ]);
  signal.throwIfAborted();
  return reports;
}

/** Only names and origins, and values of settings that are numbers or booleans: paths and text may be private. */
const settingsOf = (response: unknown): unknown =>
  settingRows(response).map(({ key, value, origin }) => ({
    setting: key,
    value: typeof value === 'string' && /^(?:\d[\w.%]{0,20}|true|false|)$/.test(value) ? value : '(omitted)',
    origin,
  }));

async function report(name: string, read: () => Promise<unknown>): Promise<Report> {
  try {
    return { name, value: await read() };
  } catch (thrown) {
    return { name, value: { error: asError(thrown).message } };
  }
}

async function doctorFindings(context: CommandContext): Promise<unknown> {
  let text = '';
  const write = (chunk: string | Uint8Array): Promise<void> => Promise.resolve(void (text += String(chunk)));
  const socket = `--socket=${context.api.socketPath}`;
  await doctor.run(['-o', 'json', socket], { ...context, out: { write } });
  const findings: unknown = JSON.parse(text);
  return findings;
}
