/** Writes audit events to the log. */
import type { Clock } from '#api/kit/clock.ts';
import { type AuditBackend, type AuditEvent, type BackendOptions, createBackend } from './backend.ts';
import type { LineWriter } from './log-file.ts';

export interface LogBackendDeps {
  readonly clock: Clock;
  readonly writer: LineWriter;
  readonly onLost: (error: Error, count: number) => void;
}

export interface LogBackendOptions extends BackendOptions {
  readonly format: 'json' | 'legacy';
}

export function createLogBackend(
  { clock, writer, onLost }: LogBackendDeps,
  options: LogBackendOptions,
): AuditBackend {
  const { mode } = options;
  const format =
    options.format === 'legacy' ? (event: AuditEvent) => event.legacy() : ({ line }: AuditEvent) => line;

  async function send(lines: readonly string[]): Promise<void> {
    if (mode !== 'batch') {
      await Promise.all(lines.map((line) => writer.written(line)));
      return;
    }
    const lost = lines.filter((line) => !writer.write(line)).length;
    if (lost > 0) onLost(new Error('the buffer of the log is full'), lost);
  }

  return createBackend({ clock, name: 'log', format, send, onLost, close: () => writer.close() }, options);
}
