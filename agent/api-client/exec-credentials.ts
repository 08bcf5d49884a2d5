/** Credentials from a plugin: kept until they expire or the server refuses them; one run at a time.
 *  Source: document 2, section 5.8. */
import {
  decideInteractive,
  type ExecCredential,
  formatExecInfo,
  parseExecCredential,
} from '#api/client-config/exec-credential.ts';
import type { ExecSpec } from '#api/client-config/exec-spec.ts';
import { asError, type Clock } from '#api/kit/clock.ts';
import { createSingleFlight } from '#api/kit/single-flight.ts';
import type { Credential, CredentialSource } from './credentials.ts';
import { ExecPluginError, type RunExecPlugin } from './run-exec-plugin.ts';

export interface ExecCredentialDeps {
  readonly clock: Pick<Clock, 'now'>;
  readonly runPlugin: RunExecPlugin;
  /** Our own environment, which the plugin inherits. */
  readonly env: Readonly<Record<string, string>>;
  /** Whether standard input is a terminal that a person sits at. */
  readonly hasTerminal: boolean;
  /** Is given what the plugin writes to standard error. */
  readonly passOn: (chunk: Uint8Array) => void;
}

/** A person needs longer to answer than a program. */
const SILENT_TIMEOUT_MS = 60_000;
const INTERACTIVE_TIMEOUT_MS = 10 * 60_000;

interface Kept {
  readonly credential: Credential;
  readonly expiresAtMs: number;
}

function keep({ token, certificate, expiresAtMs }: ExecCredential, before: Kept | undefined): Kept {
  const old = before?.credential.certificate;
  // The same pair stays the same object, so that connections made with it are used on.
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
  let kept: Kept | undefined;

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
      kept = keep(parseExecCredential(output, spec.apiVersion), kept);
      return kept.credential;
    } catch (thrown) {
      const cause = asError(thrown);
      throw new ExecPluginError(`credential plugin ${command} gave a wrong answer: ${cause.message}`, {
        cause,
      });
    }
  }

  const isGood = (): boolean => kept !== undefined && clock.now() < kept.expiresAtMs;
  const renew = (signal: AbortSignal): Promise<Credential> => flights.run(spec.command, run, signal);
  return {
    current: (signal) => (kept !== undefined && isGood() ? Promise.resolve(kept.credential) : renew(signal)),
    async refused(used, signal) {
      const ours = kept?.credential;
      // A credential that another part of the configuration gave is not ours to renew.
      const wasSent =
        ours !== undefined &&
        (ours.authorization === undefined || ours.authorization === used.authorization) &&
        (ours.certificate === undefined || ours.certificate === used.certificate);
      if (wasSent) await renew(signal);
    },
  };
}
