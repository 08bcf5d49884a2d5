/** Credentials of an exec plugin: cached until they expire or the server rejects them; one run at a time.
 *  Source: exec credential plugins, document 2 §5.8. */
import {
  decideInteractive,
  type ExecCredential,
  formatExecInfo,
  parseExecCredential,
} from '#api/client-config/exec-credential.ts';
import type { ExecSpec } from '#api/client-config/exec-spec.ts';
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import { createSingleFlight } from '#api/kit/single-flight.ts';
import type { Credential, CredentialSource } from './credentials.ts';
import { ExecPluginError, type RunExecPlugin } from './run-exec-plugin.ts';

export interface ExecCredentialDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly runPlugin: RunExecPlugin;
  /** Environment of the agent, which the plugin inherits. */
  readonly env: Readonly<Record<string, string>>;
  /** Whether standard input is an interactive terminal. */
  readonly hasTerminal: boolean;
  /** Receives the standard error output of the plugin. */
  readonly passOn: (chunk: Uint8Array) => void;
}

/** A user needs longer to respond than a program. */
const SILENT_TIMEOUT_MS = 60_000;
const INTERACTIVE_TIMEOUT_MS = 10 * 60_000;

interface Cached {
  readonly credential: Credential;
  readonly expiresAtMs: number;
}

function cache({ token, certificate, expiresAtMs }: ExecCredential, before: Cached | undefined): Cached {
  const old = before?.credential.certificate;
  // An unchanged pair keeps its object identity, so that its connections are reused.
  const isSame = old?.certificate === certificate?.certificate && old?.key === certificate?.key;
  const pair = isSame ? old : certificate;
  const credential = {
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(pair === undefined ? {} : { certificate: pair }),
  };
  return { credential, expiresAtMs: expiresAtMs ?? Number.POSITIVE_INFINITY };
}

export function createExecCredentials(deps: ExecCredentialDeps, spec: ExecSpec): CredentialSource {
  const { clock, runPlugin, env, hasTerminal, passOn } = deps;
  const flights = createSingleFlight<Credential>();
  const ownEnv = Object.fromEntries(spec.env.map(({ name, value }) => [name, value]));
  let cached: Cached | undefined;

  async function run(signal: AbortSignal): Promise<Credential> {
    const decision = decideInteractive(spec.interactiveMode, hasTerminal);
    if (decision === 'impossible') {
      const detail = 'needs a terminal on standard input (interactiveMode Always), and there is none';
      throw new ExecPluginError(`credential plugin ${spec.command} ${detail}`);
    }
    const interactive = decision === 'interactive';
    const { command, args, installHint } = spec;
    const output = await runPlugin(
      {
        command,
        args,
        env: { ...env, ...ownEnv, [spec.infoVariable]: formatExecInfo(spec, interactive) },
        interactive,
        installHint,
        timeoutMs: interactive ? INTERACTIVE_TIMEOUT_MS : SILENT_TIMEOUT_MS,
        passOn,
      },
      signal,
    );
    try {
      cached = cache(parseExecCredential(output, spec.apiVersion), cached);
      return cached.credential;
    } catch (thrown) {
      const cause = asError(thrown);
      throw new ExecPluginError(
        `credential plugin ${command} returned an invalid response: ${cause.message}`,
        {
          cause,
        },
      );
    }
  }

  const isGood = (): boolean => cached !== undefined && clock.now() < cached.expiresAtMs;
  const renew = (signal: AbortSignal): Promise<Credential> => flights.run(spec.command, run, signal);
  return {
    current: (signal) =>
      cached !== undefined && isGood() ? Promise.resolve(cached.credential) : renew(signal),
    async refused(used, signal) {
      const ours = cached?.credential;
      // Credentials from another part of the configuration are not renewed by the plugin.
      const wasSent =
        ours !== undefined &&
        (ours.authorization === undefined || ours.authorization === used.authorization) &&
        (ours.certificate === undefined || ours.certificate === used.certificate);
      if (wasSent) await renew(signal);
    },
  };
}
