/** Sink of whole messages. */
export interface Channel {
  readonly backlogBytes: number;
  /** @returns number of bytes handed to the connection */
  write(bytes: Buffer, readers: number): number;
  end(): void;
  cut(): void;
  onClose(listener: () => void): void;
  /** Calls when a backlog larger than the connection's buffer has drained. */
  onDrain(listener: () => void): void;
}
