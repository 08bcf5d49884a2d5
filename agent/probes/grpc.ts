/** gRPC health probe. Source: grpc.health.v1.Health/Check.
 *  The gRPC library is loaded with the first such probe; the two messages are small enough for a codec of
 *  their own. */
import type { Client, ServiceError } from '@grpc/grpc-js';
import { decodeHealthStatus, encodeHealthRequest } from './grpc-health.ts';
import type { ProbeResult } from './probe-types.ts';

export interface GrpcProbe {
  readonly host: string;
  readonly port: number;
  /** Empty for the server as a whole. */
  readonly service: string;
  readonly userAgent: string;
  readonly timeoutMs: number;
}

/** Every call error is a failure of the container. Rejects with the signal's reason when it fires. */
export async function probeGrpc(probe: GrpcProbe, signal: AbortSignal): Promise<ProbeResult> {
  const { Client: GrpcClient, credentials } = await import('@grpc/grpc-js');
  signal.throwIfAborted();
  const host = probe.host.includes(':') ? `[${probe.host}]` : probe.host;
  const client = new GrpcClient(`${host}:${probe.port}`, credentials.createInsecure(), {
    'grpc.primary_user_agent': probe.userAgent,
    'grpc.enable_http_proxy': 0,
    'grpc.enable_retries': 0,
    'grpc.service_config_disable_resolution': 1,
    'grpc.use_local_subchannel_pool': 1,
    'grpc.max_receive_message_length': 4096,
  });
  try {
    return await check(client, probe, signal);
  } finally {
    client.close();
  }
}

function check(client: Client, probe: GrpcProbe, signal: AbortSignal): Promise<ProbeResult> {
  return new Promise((resolve, reject) => {
    const call = client.makeUnaryRequest(
      '/grpc.health.v1.Health/Check',
      encodeHealthRequest,
      decodeHealthStatus,
      probe.service,
      { deadline: Date.now() + probe.timeoutMs },
      (error: ServiceError | null, status?: string) => {
        signal.removeEventListener('abort', onAbort);
        if (signal.aborted) reject(abortReason(signal));
        else resolve(error === null ? judge(status ?? 'UNKNOWN') : failed(error, probe));
      },
    );
    function onAbort(): void {
      call.cancel();
    }
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

const abortReason = (signal: AbortSignal): Error => {
  const reason: unknown = signal.reason;
  return reason instanceof Error ? reason : new Error('the gRPC probe was aborted');
};

const judge = (status: string): ProbeResult =>
  status === 'SERVING'
    ? { outcome: 'success', output: 'service healthy' }
    : { outcome: 'failure', output: `service unhealthy (responded with ${JSON.stringify(status)})` };

const DEADLINE_EXCEEDED = 4;
const UNIMPLEMENTED = 12;

function failed(error: ServiceError, { service, timeoutMs }: GrpcProbe): ProbeResult {
  const code: number = error.code;
  const what = service === '' ? 'health rpc' : `health rpc for service ${JSON.stringify(service)}`;
  if (code === DEADLINE_EXCEEDED) {
    return { outcome: 'failure', output: `timeout: ${what} did not complete within ${timeoutMs / 1000}s` };
  }
  if (code === UNIMPLEMENTED) {
    return { outcome: 'failure', output: 'the server does not implement grpc.health.v1.Health' };
  }
  return { outcome: 'failure', output: `${what} failed: ${error.details}` };
}
