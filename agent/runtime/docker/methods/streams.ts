/** Methods of exec, attach and port-forward. */
import type {
  AttachRequest,
  AttachResponse,
  ExecRequest,
  ExecResponse,
  ExecSyncRequest,
  ExecSyncResponse,
  PortForwardRequest,
  PortForwardResponse,
} from '#cri/gen/cri-v1.ts';
import type { MessageInput } from '#cri/message.ts';
import { CallRejection } from '#cri/server/rejection.ts';
import { type DockerContext, requireRunning, requireSandbox } from '../context.ts';
import type { DialInside } from '../network/dial.ts';
import { commandSession } from '../streaming/command-session.ts';
import { execSync } from '../streaming/exec-sync.ts';
import { portSession } from '../streaming/port-session.ts';
import { attachProcess, execProcess } from '../streaming/process.ts';
import type { StreamingServer } from '../streaming/server.ts';

export interface StreamDeps {
  readonly server: StreamingServer;
  readonly dial: DialInside;
}

export interface StreamMethods {
  execSync(request: ExecSyncRequest): Promise<MessageInput<ExecSyncResponse>>;
  exec(request: ExecRequest): Promise<MessageInput<ExecResponse>>;
  attach(request: AttachRequest): Promise<MessageInput<AttachResponse>>;
  portForward(request: PortForwardRequest): Promise<MessageInput<PortForwardResponse>>;
}

function requireStreams({ stdin, stdout, stderr, tty }: AttachRequest | ExecRequest): void {
  if (tty && stderr)
    throw new CallRejection('InvalidArgument', 'stderr: a terminal has none; set stderr or tty');
  if (!stdin && !stdout && !stderr)
    throw new CallRejection('InvalidArgument', 'stdin, stdout, stderr: one is required');
}

export function streamMethods(context: DockerContext, { server, dial }: StreamDeps): StreamMethods {
  const { client, clock } = context;
  return {
    async execSync({ containerId, cmd, timeout }) {
      requireRunning(context, containerId);
      return execSync({ clock, client }, containerId, cmd, Math.max(0, Number(timeout)) * 1000);
    },
    async exec(request) {
      requireRunning(context, request.containerId);
      requireStreams(request);
      const { containerId, cmd: command, stdin, stdout, stderr, tty } = request;
      const spec = { stdin, stdout, stderr, tty };
      const session = commandSession(spec, () => execProcess(client, containerId, { command, ...spec }));
      return { url: await server.register('exec', session) };
    },
    async attach(request) {
      const { note } = requireRunning(context, request.containerId);
      requireStreams(request);
      const { containerId, stdin, stdout, stderr, tty } = request;
      if (tty !== note.config.tty) {
        throw new CallRejection('InvalidArgument', `tty: must be ${note.config.tty}, as for the container`);
      }
      const spec = { stdin, stdout, stderr, tty };
      const session = commandSession(spec, () => attachProcess(client, containerId, spec));
      return { url: await server.register('attach', session) };
    },
    async portForward({ podSandboxId, port }) {
      const { isReady } = requireSandbox(context, podSandboxId);
      if (!isReady) throw new CallRejection('FailedPrecondition', `sandbox ${podSandboxId} is not ready`);
      const session = portSession(port, async (number) => {
        const { pid } = await client.inspect(podSandboxId);
        if (pid <= 1) throw new CallRejection('FailedPrecondition', `sandbox ${podSandboxId} does not run`);
        return dial(`/proc/${pid}/ns/net`, number);
      });
      return { url: await server.register('portforward', session) };
    },
  };
}
