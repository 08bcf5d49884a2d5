/** Connection of the image commands to the runtime of the agent. Works without a running agent. */
import { silentLogger } from '#api/kit/logger.ts';
import { type CriConnection, connectRuntime } from '#cri/client/connection.ts';
import { detectEndpoint } from '../../runtime/detect-endpoint.ts';
import type { OptionSpec } from '../args/arguments.ts';
import { AgentUnreachableError } from '../client/api-client.ts';
import { textMember } from '../client/responses.ts';
import type { CommandContext } from '../command.ts';
import { CommandError } from '../errors.ts';
import { plainText, settingRows } from '../settings/agent-flags.ts';

export const ENDPOINT_OPTION: Readonly<Record<'endpoint', OptionSpec>> = {
  endpoint: {
    type: 'string',
    value: 'unix:///PATH',
    help: 'socket of the runtime (that of the running agent)',
  },
};

/** Time for the runtime to respond, in ms. */
const PATIENCE_MS = 5000;
/** A pull of a large image takes long; the user interrupts it. */
const PULL_TIMEOUT_MS = 3_600_000;

/** Installed containerd, for the time when no agent runs. */
const MANAGED_ENDPOINT = 'unix:///run/nodeagent-containerd/containerd.sock';

export interface ImageRuntime extends AsyncDisposable {
  readonly endpoint: string;
  readonly connection: CriConnection;
  /** Setting of the running agent; empty without one. */
  readonly setting: (key: string) => string;
}

/** @throws CommandError when the runtime does not respond */
export async function openImageRuntime(
  endpoint: string | undefined,
  context: CommandContext,
): Promise<ImageRuntime> {
  const settings = await fetchSettings(context);
  const setting = (key: string): string => settings.get(key) ?? '';
  const configured = endpoint ?? (setting('imageServiceEndpoint') || setting('containerRuntimeEndpoint'));
  const chosen =
    configured === '' && settings.size === 0 ? MANAGED_ENDPOINT : await detectEndpoint(configured);
  const connection = connectRuntime({
    endpoint: chosen,
    log: silentLogger,
    requestTimeoutMs: PULL_TIMEOUT_MS,
  });
  const limit = AbortSignal.any([context.signal, AbortSignal.timeout(PATIENCE_MS)]);
  await connection.whenConnected(limit).catch(() => {
    connection.close();
    context.signal.throwIfAborted();
    throw new CommandError(`the runtime does not respond on ${chosen}; select another one with --endpoint`);
  });
  return {
    endpoint: chosen,
    connection,
    setting,
    [Symbol.asyncDispose]: () => Promise.resolve(connection.close()),
  };
}

async function fetchSettings({ api, signal }: CommandContext): Promise<ReadonlyMap<string, string>> {
  try {
    const rows = settingRows(await api.json({ path: ['config'], signal }));
    return new Map(rows.map((row) => [textMember(row, 'key'), plainText(textMember(row, 'value'))]));
  } catch (thrown) {
    if (thrown instanceof AgentUnreachableError) return new Map();
    throw thrown;
  }
}

/** Returns the path of a unix socket. @throws CommandError for another endpoint */
export function socketPathOf(endpoint: string): string {
  const path = endpoint.startsWith('unix://') ? endpoint.slice('unix://'.length) : '';
  if (path.startsWith('/')) return path;
  throw new CommandError(`${endpoint} is not the unix socket of a containerd`);
}
