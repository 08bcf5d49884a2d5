/** Validation of client certificate chains by the server, compared with OpenSSL. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { allChains, type Chain, certificatesOf } from '#plane/authn/chains.fixture.ts';
import { createTempDir } from '../../testing/temp.ts';

const run = promisify(execFile);

async function judge(chain: Chain, dir: string, index: number): Promise<boolean> {
  const [root = '', ...rest] = certificatesOf(chain, Date.now());
  const end = rest.pop() ?? '';
  const file = (name: string): string => `${dir}/${index}-${name}`;
  await Promise.all([
    writeFile(file('root'), root),
    writeFile(file('between'), rest.join('')),
    writeFile(file('end'), end),
  ]);
  const between = rest.length === 0 ? [] : ['-untrusted', file('between')];
  const stores = ['-no-CApath', '-no-CAstore', '-CAfile', file('root')];
  try {
    await run('openssl', ['verify', '-purpose', 'sslclient', ...stores, ...between, file('end')]);
    return true;
  } catch {
    return false;
  }
}

test('OpenSSL judges chains of client certificates alike', { timeout: 60_000 }, async () => {
  await using dir = await createTempDir('na-chains-');
  // Longer ones show nothing new, and each is a process.
  const chains = allChains().filter(({ says }) => says.length <= 4);
  const different: string[] = [];
  for (let from = 0; from < chains.length; from += 8) {
    const some = chains.slice(from, from + 8);
    const judged = await Promise.all(some.map((chain, index) => judge(chain, dir.path, from + index)));
    for (const [index, chain] of some.entries())
      if (judged[index] !== chain.good && chain.except === undefined)
        different.push(`${chain.what}: ${judged[index]}`);
  }
  expect(different).toEqual([]);
});
