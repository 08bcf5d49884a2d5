/** The terminal of a person as the streams of a command in a container. */
import { spawnSync } from 'node:child_process';
import type { ReadStream, WriteStream } from 'node:tty';
import type { TerminalSize } from '#cri/streaming/session.ts';

export interface Terminal extends Disposable {
  /** The size now, and each new one. */
  readonly resize: AsyncIterable<TerminalSize>;
}

/** Hands every key to the command until disposed, which gives the terminal back as it was.
 *  @param input the process's standard input */
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

/** Raw mode of Node still puts a carriage return before each line feed, which the other terminal did already, and
 *  which full-screen programs do not expect. Leaving raw mode restores this too. */
function stopOutputProcessing(): void {
  // Without the program the terminal is as good as raw mode makes it.
  spawnSync('stty', ['-opost'], { stdio: ['inherit', 'ignore', 'ignore'] });
}

export interface SizeQueue {
  /** Notes that the size may have changed. */
  readonly notice: () => void;
  readonly end: () => void;
  readonly all: AsyncIterable<TerminalSize>;
}

/** Only the newest size counts: a reader that is behind skips the ones between. */
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
