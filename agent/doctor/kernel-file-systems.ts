/** File systems that the kernel supports, or can load as modules. */
import type { Machine } from './machine.ts';

export type FileSystemSupport = 'known' | 'loadable' | 'missing';

export interface FileSystems {
  find(name: string): Promise<FileSystemSupport>;
}

/** Names of the registered file systems, as in `/proc/filesystems`. */
function parseFileSystems(text: string): ReadonlySet<string> {
  return new Set(text.split('\n').map((line) => line.trim().split(/\s+/).at(-1) ?? ''));
}

export async function createFileSystems(
  machine: Pick<Machine, 'read' | 'kernelRelease'>,
): Promise<FileSystems> {
  const folder = `/lib/modules/${machine.kernelRelease}`;
  const known = parseFileSystems((await machine.read('/proc/filesystems')) ?? '');
  const isLocked = (await machine.read('/proc/sys/kernel/modules_disabled'))?.trim() === '1';
  // Large files, read only if a file system is missing.
  let modules: Promise<readonly string[]> | undefined;
  const loadModules = (): Promise<readonly string[]> =>
    Promise.all(
      ['modules.dep', 'modules.alias', 'modules.builtin'].map(
        async (name) => (await machine.read(`${folder}/${name}`)) ?? '',
      ),
    );
  return {
    async find(name) {
      if (known.has(name)) return 'known';
      if (isLocked) return 'missing';
      modules ??= loadModules();
      const [dependencies = '', aliases = '', builtin = ''] = await modules;
      const isModule = new RegExp(`/${RegExp.escape(name)}\\.ko(?:\\.\\w+)?(?:[:\\n]|$)`);
      const isLoadable =
        isModule.test(dependencies) || isModule.test(builtin) || aliases.includes(`alias fs-${name} `);
      return isLoadable ? 'loadable' : 'missing';
    },
  };
}
