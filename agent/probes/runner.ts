/** Makes one probe: picks the way, fills in the pod's address and the port's number. */
import { resolvePort } from '#api/meta/int-or-string.ts';
import type { Container, Probe } from '#api/schema/gen/core-v1.ts';
import { type ExecSync, probeExec } from './exec.ts';
import { probeGrpc } from './grpc.ts';
import { probeHttp } from './http.ts';
import type { ProbeOutcome } from './probe-state.ts';
import { probeTcp } from './tcp.ts';

export interface ProbeResult {
  readonly outcome: ProbeOutcome;
  /** What the probe said, for people; shortened. */
  readonly output: string;
}

export interface ProbeRequest {
  readonly probe: Probe;
  readonly container: Pick<Container, 'name' | 'ports'>;
  readonly containerId: string;
  /** Empty while it isn't known. */
  readonly podIP: string;
  readonly timeoutMs: number;
}

/** Makes one probe. May reject when `signal` fires, and for a fault of the prober, which says nothing about the
 *  container. */
export type ProbeRunner = (request: ProbeRequest, signal: AbortSignal) => Promise<ProbeResult>;

export interface ProbeRunnerDeps {
  readonly execSync: ExecSync;
  /** `vocabulary.probeUserAgent`, a slash and the version. */
  readonly userAgent: string;
}

export function createProbeRunner({ execSync, userAgent }: ProbeRunnerDeps): ProbeRunner {
  return async ({ probe, container, containerId, podIP, timeoutMs }, signal) => {
    const { exec, httpGet, tcpSocket, grpc } = probe;
    if (exec !== undefined)
      return probeExec(execSync, { containerId, argv: exec.command ?? [], timeoutMs }, signal);
    const action = httpGet ?? tcpSocket ?? grpc;
    if (action === undefined) return unknown('the probe has no handler');
    const host = 'host' in action && action.host !== undefined && action.host !== '' ? action.host : podIP;
    const port = resolvePort(action.port, container.ports);
    if (port === undefined)
      return unknown(`container ${container.name} has no port ${JSON.stringify(action.port)}`);
    if (host === '') return unknown('the pod has no address yet');
    if (httpGet !== undefined) return probeHttp({ action: httpGet, host, port, userAgent }, signal);
    if (tcpSocket !== undefined) return probeTcp({ host, port }, signal);
    return probeGrpc({ host, port, service: grpc?.service ?? '', userAgent, timeoutMs }, signal);
  };
}

const unknown = (output: string): ProbeResult => ({ outcome: 'unknown', output });
