/**
 * What the names of keys begin with that one command or script uses together: in a cluster it puts them into one slot.
 * @param prefix of the installation's keys
 */
export const togetherPrefix = ({ isCluster }: { readonly isCluster: boolean }, prefix: string): string =>
  isCluster ? `${prefix}{${prefix}access}` : prefix;
