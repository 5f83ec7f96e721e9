import { existsSync } from "node:fs";

/** What keeps a process with GDAL from harm: GDAL without what it does not need, and limits by the kernel. */

/** Drivers of GDAL 3.6 that no host uses: many of them follow names of files and addresses in what they read. */
const unusedDrivers =
  "VRT,DERIVED,COG,NITF,RPFTOC,ECRGTOC,HFA,SAR_CEOS,CEOS,JAXAPALSAR,GFF,ELAS,ESRIC,AIG,AAIGrid,GRASSASCIIGrid,ISG," +
  "SDTS,DTED,JDEM,GIF,BIGGIF,ESAT,FITS,BSB,XPM,BMP,DIMAP,AirSAR,RS2,SAFE,PCIDSK,PCRaster,ILWIS,SGI,SRTMHGT," +
  "Leveller,Terragen,netCDF,HDF4,HDF4Image,ISIS3,ISIS2,PDS,PDS4,VICAR,TIL,ERS,JP2OpenJPEG,L1B,FIT,GRIB,RMF,WCS,WMS," +
  "MSGN,RST,GSAG,GSBG,GS7BG,COSAR,TSX,COASP,R,MAP,KMLSUPEROVERLAY,WEBP,PDF,Rasterlite,MBTiles,PLMOSAIC,CALS,WMTS," +
  "SENTINEL2,MRF,PNM,DOQ1,DOQ2,PAux,MFF,MFF2,GSC,FAST,BT,LAN,CPG,NDF,EIR,DIPEx,LCP,GTX,LOSLAS,NTv2,CTable2,ACE2," +
  "SNODAS,KRO,ROI_PAC,RRASTER,BYN,ARG,RIK,USGSDEM,GXF,BAG,HDF5,HDF5Image,NWT_GRD,NWT_GRC,ADRG,SRP,BLX," +
  "PostGISRaster,SAGA,XYZ,HF2,OZI,CTG,ZMap,NGSGEOID,IRIS,PRF,EEDAI,EEDA,DAAS,SIGDEM,HEIF,TGA,OGCAPI,STACTA,STACIT," +
  "GNMFile,GNMDatabase,UK .NTF,LVBAG,OGR_SDTS,S57,DGN,OGR_VRT,CSV,NAS,GPX,LIBKML,KML,GeoJSON,GeoJSONSeq,ESRIJSON," +
  "TopoJSON,Interlis 1,Interlis 2,OGR_GMT,SQLite,ODBC,WAsP,PGeo,MSSQLSpatial,OGR_OGDI,PostgreSQL,MySQL,OpenFileGDB," +
  "CAD,Geoconcept,GeoRSS,VFK,PGDUMP,OSM,GPSBabel,OGR_PDS,WFS,OAPIF,SOSI,EDIGEO,SVG,Idrisi,ODS,XLSX,Elasticsearch," +
  "Carto,AmigoCloud,Selafin,JML,PLSCENES,CSW,VDV,GMLAS,MVT,NGW,MapML,TIGER,AVCBin,AVCE00,GenBin,ENVI,EHdr,ISCE," +
  "Zarr,HTTP,SXF";

/** Drivers that imports use and exports do not. */
const readingDrivers = "GTiff,PNG,JPEG,GML,DXF,XLS";

/** GDAL may only use the local files that it is given. */
const gdalWithout = (drivers: string): Readonly<Record<string, string>> => ({
  GDAL_SKIP: drivers,
  OGR_SKIP: drivers,
  GDAL_DRIVER_PATH: "disable",
  GDAL_DISABLE_READDIR_ON_OPEN: "TRUE",
  CPL_VSIL_CURL_ALLOWED_EXTENSIONS: "{none}",
  // Whatever still asks for an address gets no connection.
  GDAL_HTTP_TIMEOUT: "1",
  GDAL_HTTP_PROXY: "http://127.0.0.1:9",
  GDAL_HTTPS_PROXY: "http://127.0.0.1:9",
  GDAL_HTTP_MAX_RETRY: "0",
  PROJ_NETWORK: "OFF",
  GML_DOWNLOAD_SCHEMA: "NO",
  GML_USE_SCHEMA_IMPORT: "NO",
  GML_SKIP_RESOLVE_ELEMS: "ALL",
  OGR_SQLITE_LOAD_EXTENSIONS: "",
  // GDAL registers its drivers twice, and warns of each that the first time left nothing of. Errors are thrown to us.
  CPL_LOG: "/dev/null",
});

/** Variables of the environment of hosts that read files of strangers, and of those that write files. */
export const importIsolation = gdalWithout(unusedDrivers);
export const exportIsolation = gdalWithout(`${unusedDrivers},${readingDrivers}`);
/** Of the host that reads netCDF files of the system. */
export const waterIsolation = gdalWithout(unusedDrivers.replace("netCDF,", ""));

/** Limits of one process, which it cannot raise. */
export interface ProcessLimits {
  /** Memory that it may write to. The check of resident memory is finer, but comes too late for one large allocation. */
  readonly dataBytes: number;
  /** Size of each file that it writes. */
  readonly fileBytes: number;
  readonly openFiles: number;
}

/** Memory that a process may allocate without using it, above the bound of its resident memory. */
const spareBytes = 512 * 1024 ** 2;

/** Limits of a host with GDAL. */
export const gdalLimits = (own: {
  readonly memoryBytes: number;
  readonly fileBytes: number;
}): ProcessLimits => ({
  dataBytes: own.memoryBytes + spareBytes,
  fileBytes: own.fileBytes,
  openFiles: 512,
});

const prlimit = "/usr/bin/prlimit";

/**
 * How `fork` starts Node.js under the limits: prlimit becomes Node.js, with the same process id.
 * @returns undefined where the system has no prlimit (util-linux)
 */
export function underLimits(
  limits: ProcessLimits,
): { readonly execPath: string; readonly execArgv: string[] } | undefined {
  if (!existsSync(prlimit)) return undefined;
  const { dataBytes, fileBytes, openFiles } = limits;
  const options = [`--data=${dataBytes}`, `--fsize=${fileBytes}`, `--nofile=${openFiles}`, "--core=0"];
  return { execPath: prlimit, execArgv: [...options, "--", process.execPath] };
}
