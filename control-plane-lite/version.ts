/** Identifies the running build. */
import { gitCommit } from '#api/kit/git-commit.ts';
import packageFile from '../package.json' with { type: 'json' };

/** Returns the version of the product, from `package.json`. */
export const PRODUCT_VERSION: string = packageFile.version;

/** Returns the commit of the build, or `unknown`. */
export const productCommit = (): string => gitCommit(import.meta.dirname);
