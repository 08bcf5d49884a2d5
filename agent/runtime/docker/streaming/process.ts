/** Processes in containers, with their streams: exec and attach. */
import type { Duplex } from 'node:stream';
import type { AttachSpec, DockerClient, ExecSpec, TerminalDimensions } from '../client/docker-client.ts';
import { DockerError } from '../client/errors.ts';
import { createDemuxer, type OutputPiece } from './demux.ts';

export interface ContainerProcess {
  /** Output until the process ends. */
  output(): AsyncGenerator<OutputPiece, void, undefined>;
  write(bytes: Uint8Array): Promise<void>;
  endInput(): void;
  resize(size: TerminalDimensions): Promise<void>;
  /** Exit code once the output has ended; 0 for an attached container. @throws DockerError */
  exitCode(): Promise<number>;
  /** Kills a process of exec; leaves an attached container alone. */
  kill(): Promise<void>;
  /** Breaks the connection. */
  close(): void;
}

type Client = Pick<
  DockerClient,
  'createExec' | 'startExec' | 'inspectExec' | 'resizeExec' | 'attach' | 'resize'
>;

async function* read(connection: Duplex, tty: boolean): AsyncGenerator<OutputPiece, void, undefined> {
  const demuxer = createDemuxer();
  for await (const chunk of connection as AsyncIterable<Uint8Array>) {
    if (tty) yield { stream: 'stdout', bytes: chunk };
    else yield* demuxer.feed(chunk);
  }
}

function streamsOf(
  connection: Duplex,
  tty: boolean,
): Pick<ContainerProcess, 'output' | 'write' | 'endInput' | 'close'> {
  // The reader of the output receives errors as well.
  connection.on('error', () => undefined);
  return {
    output: () => read(connection, tty),
    write: async (bytes) =>
      new Promise<void>((resolve) => {
        // A process that has ended reads no input.
        if (connection.destroyed || connection.writableEnded) resolve();
        else connection.write(bytes, () => resolve());
      }),
    endInput: () => void connection.end(),
    close: () => void connection.destroy(),
  };
}

/** Exit codes of a shell for a program that is missing or cannot be executed. */
const NOT_STARTED: ReadonlySet<number> = new Set([126, 127]);
const START_FAILURE = /^OCI runtime exec failed: /;

/** Returns the message if output and exit code mean that no process was started. */
export function startFailure(exitCode: number, output: string): string | undefined {
  return NOT_STARTED.has(exitCode) && START_FAILURE.test(output) ? output.trim() : undefined;
}

export async function execProcess(
  client: Client,
  containerId: string,
  spec: ExecSpec,
): Promise<ContainerProcess> {
  const execId = await client.createExec(containerId, spec);
  const connection = await client.startExec(execId, spec.tty);
  return {
    ...streamsOf(connection, spec.tty),
    resize: (size) => client.resizeExec(execId, size),
    async exitCode() {
      const { exitCode } = await client.inspectExec(execId);
      if (exitCode === undefined) throw new DockerError('Unknown', 'docker reported no exit code');
      return exitCode;
    },
    async kill() {
      const { isRunning, pid } = await client.inspectExec(execId);
      if (!isRunning || pid <= 1) return;
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It ended in the meantime.
      }
    },
  };
}

export async function attachProcess(
  client: Client,
  containerId: string,
  spec: AttachSpec & { readonly tty: boolean },
): Promise<ContainerProcess> {
  const { tty, ...streams } = spec;
  const connection = await client.attach(containerId, streams);
  return {
    ...streamsOf(connection, tty),
    resize: (size) => client.resize(containerId, size),
    exitCode: () => Promise.resolve(0),
    kill: () => Promise.resolve(),
  };
}
