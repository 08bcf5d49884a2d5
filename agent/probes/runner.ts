/** Runs one probe: selects the handler, and resolves the address of the pod and the port number. */
import { resolvePort } from '#api/meta/int-or-string.ts';
import { type ExecSync, probeExec } from './exec.ts';
import { probeGrpc } from './grpc.ts';
import { probeHttp } from './http.ts';
import type { ProbeResult, ProbeRunner } from './probe-types.ts';
import { probeTcp } from './tcp.ts';

export interface ProbeRunnerDeps {
  readonly execSync: ExecSync;
  /** `vocabulary.probeUserAgent`, a slash and the version. */
  readonly userAgent: string;
  /** The feature gate GRPCContainerProbe; enabled by default. */
  readonly grpcProbes?: boolean;
}

export function createProbeRunner({ execSync, userAgent, grpcProbes = true }: ProbeRunnerDeps): ProbeRunner {
  return async ({ probe, container, containerId, podIP, timeoutMs }, signal) => {
    const { exec, httpGet, tcpSocket, grpc } = probe;
    if (exec !== undefined)
      return probeExec(execSync, { containerId, argv: exec.command ?? [], timeoutMs }, signal);
    const action = httpGet ?? tcpSocket ?? grpc;
    if (action === undefined) return unknown('the probe has no handler');
    if (action === grpc && !grpcProbes)
      return unknown('gRPC probes are disabled by the feature gate GRPCContainerProbe');
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
