/** State of a test's agent for the message of a failure. */
import { copyFile, mkdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type AgentFolders, connectForTraces, containerNameOf, podUIDOf, readTraces } from './traces.ts';

/** Shown part of the agent's log, in characters. */
const LOG_TAIL = 20_000;
const CONNECT_TIMEOUT_MS = 2_000;

export const agentLog = ({ folder }: AgentFolders): string => join(folder, 'agent.log');

/** Returns the end of the agent's log, of the lines containing `mentions` if given. Never rejects. */
export async function logTail(agent: AgentFolders, mentions = ''): Promise<string> {
  const text = await readFile(agentLog(agent), 'utf8').catch(String);
  const lines = text.split('\n').filter((line) => line.includes(mentions));
  return lines.join('\n').slice(-LOG_TAIL);
}

/** Returns the agent's log and its state in the runtime and on disk, as text. Never rejects. */
export async function describeAgent(agent: AgentFolders, endpoint: string, mentions = ''): Promise<string> {
  const traces = await describeTraces(agent, endpoint).catch(String);
  return `${traces}\nthe agent's log ends:\n${await logTail(agent, mentions)}`;
}

async function describeTraces(agent: AgentFolders, endpoint: string): Promise<string> {
  const connection = connectForTraces(endpoint);
  try {
    await connection.whenConnected(AbortSignal.timeout(CONNECT_TIMEOUT_MS));
    const { sandboxes, containers, ...rest } = await readTraces(connection, agent);
    const inRuntime = [
      ...sandboxes.map((sandbox) => `pod ${podUIDOf(sandbox)}: sandbox ${sandbox.id} ${sandbox.state}`),
      ...containers.map(
        (one) => `pod ${podUIDOf(one)}: container ${containerNameOf(one)} ${one.id} ${one.state}`,
      ),
    ];
    return `in the runtime:\n${inRuntime.join('\n')}\non the disk: ${JSON.stringify(rest)}`;
  } finally {
    connection.close();
  }
}

/** Saves the agent's log in the directory of NODEAGENT_TEST_LOGS, if that is set. */
export async function saveLog(agent: AgentFolders): Promise<void> {
  const folder = process.env['NODEAGENT_TEST_LOGS'];
  if (folder === undefined) return;
  await mkdir(folder, { recursive: true });
  await copyFile(agentLog(agent), join(folder, `${basename(agent.folder)}.log`));
}
