/** Connects the terminal of the user to the streams of a command in a container. */
import { spawnSync } from 'node:child_process';
import type { ReadStream, WriteStream } from 'node:tty';
import type { TerminalSize } from '#cri/streaming/session.ts';

export interface Terminal extends Disposable {
  /** Yields the current size and each new one. */
  readonly resize: AsyncIterable<TerminalSize>;
}

/** Passes every key to the command. Disposing restores the terminal.
 *  @param input standard input of the process */
export function takeTerminal(input: ReadStream, output: WriteStream): Terminal {
  const wasRaw = input.isRaw;
  const sizes = createSizeQueue(() => ({ width: output.columns, height: output.rows }));
  input.setRawMode(true);
  stopOutputProcessing();
  output.on('resize', sizes.notice);
  return {
    resize: sizes.all,
    [Symbol.dispose]() {
      output.off('resize', sizes.notice);
      sizes.end();
      input.setRawMode(wasRaw);
    },
  };
}

/** Raw mode of Node still adds a carriage return before each line feed, which the remote terminal has already
 *  done and which full-screen programs do not expect. Leaving raw mode restores this too. */
function stopOutputProcessing(): void {
  // Without the program `stty`, the terminal remains in the raw mode of Node.
  spawnSync('stty', ['-opost'], { stdio: ['inherit', 'ignore', 'ignore'] });
}

export interface SizeQueue {
  /** Records that the size may have changed. */
  readonly notice: () => void;
  readonly end: () => void;
  readonly all: AsyncIterable<TerminalSize>;
}

/** Only the newest size matters: a slow reader skips intermediate ones. */
export function createSizeQueue(measure: () => TerminalSize): SizeQueue {
  let fresh = true;
  let wake: () => void = () => undefined;
  const over = new AbortController();

  async function* sizes(): AsyncGenerator<TerminalSize> {
    while (!over.signal.aborted) {
      if (fresh) {
        fresh = false;
        yield measure();
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
  }

  return {
    notice() {
      fresh = true;
      wake();
    },
    end() {
      over.abort();
      wake();
    },
    all: { [Symbol.asyncIterator]: sizes },
  };
}
