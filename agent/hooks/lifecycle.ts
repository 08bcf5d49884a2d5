/** Runs the postStart and preStop handlers of containers. */

import type {
  Container,
  EphemeralContainer,
  HTTPGetAction,
  LifecycleHandler,
  Pod,
  TCPSocketAction,
} from '#api/gen/core-v1.ts';
import { asError } from '#api/kit/errno.ts';
import { resolvePort } from '#api/meta/int-or-string.ts';
import { type ExecSync, execOutput } from '../probes/exec.ts';
import { httpGet } from '../probes/http-get.ts';
import { probeTcp } from '../probes/tcp.ts';

/** Container of the handler. */
export interface HandlerTarget {
  readonly pod: Pod;
  readonly container: Pick<Container | EphemeralContainer, 'name' | 'ports'>;
  readonly containerId: string;
}

/** Runs a lifecycle handler. @throws LifecycleError with the message of the event */
export type RunHandler = (
  handler: LifecycleHandler,
  target: HandlerTarget,
  signal: AbortSignal,
) => Promise<void>;

export interface LifecycleDeps {
  readonly execSync: ExecSync;
  /** The pod's primary address, or the node's with host networking; empty when it has none. */
  readonly podIP: (pod: Pod) => string;
  /** `vocabulary.probeUserAgent`, a slash and the version. */
  readonly userAgent: string;
}

/** A failed handler; the message is that of its event. */
export class LifecycleError extends Error {
  override readonly name = 'LifecycleError';
}

/** Runs one handler to completion; the caller bounds it by `signal`.
 *  An HTTP handler succeeds with any response, whatever its status, as upstream.
 *  @throws LifecycleError when it failed; the signal's reason when that fires */
export async function runHandler(
  deps: LifecycleDeps,
  handler: LifecycleHandler,
  target: HandlerTarget,
  signal: AbortSignal,
): Promise<void> {
  const { exec, httpGet: http, tcpSocket } = handler;
  try {
    if (exec !== undefined) await runExec(deps, exec.command ?? [], target, signal);
    else if (http !== undefined) await runHttp(deps, http, target, signal);
    else if (tcpSocket !== undefined) await runTcp(deps, tcpSocket, target, signal);
    else throw new Error('the hook has no action');
  } catch (cause) {
    signal.throwIfAborted();
    const { pod, container } = target;
    const where = `container "${container.name}" in pod "${pod.metadata?.namespace ?? ''}/${pod.metadata?.name ?? ''}"`;
    throw new LifecycleError(`${describeHandler(handler)} for ${where} failed: ${asError(cause).message}`, {
      cause,
    });
  }
}

async function runExec(
  { execSync }: LifecycleDeps,
  argv: readonly string[],
  { containerId }: HandlerTarget,
  signal: AbortSignal,
): Promise<void> {
  const result = await execSync(containerId, argv, 0, signal);
  if (result.exitCode === 0) return;
  throw new Error(`command exited with ${result.exitCode}, message: ${JSON.stringify(execOutput(result))}`);
}

async function runHttp(
  deps: LifecycleDeps,
  action: HTTPGetAction,
  target: HandlerTarget,
  signal: AbortSignal,
): Promise<void> {
  const { userAgent } = deps;
  await httpGet({ action, ...addressOf(deps, action, target), userAgent }, signal);
}

async function runTcp(
  deps: LifecycleDeps,
  action: TCPSocketAction,
  target: HandlerTarget,
  signal: AbortSignal,
): Promise<void> {
  const { outcome, output } = await probeTcp(addressOf(deps, action, target), signal);
  if (outcome !== 'success') throw new Error(output);
}

function addressOf(
  { podIP }: LifecycleDeps,
  { host: wanted = '', port: wantedPort }: TCPSocketAction,
  { pod, container }: HandlerTarget,
): { readonly host: string; readonly port: number } {
  const host = wanted === '' ? podIP(pod) : wanted;
  if (host === '') throw new Error('the pod has no address');
  const port = wantedPort === '' ? 80 : resolvePort(wantedPort, container.ports);
  if (port === undefined) throw new Error(`the container has no port ${JSON.stringify(wantedPort)}`);
  return { host, port };
}

function describeHandler({ exec, httpGet: http, tcpSocket }: LifecycleHandler): string {
  if (exec !== undefined) return `Exec lifecycle hook ([${(exec.command ?? []).join(' ')}])`;
  if (http !== undefined) return `HTTP lifecycle hook (${http.path ?? '/'})`;
  if (tcpSocket !== undefined) return `TCP lifecycle hook (${tcpSocket.port})`;
  return 'Lifecycle hook';
}
