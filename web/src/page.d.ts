// Of the build (vite.config.ts): whether this is the page that a server shows.
declare const __SERVED__: boolean;
