import CLMDB
import Platform

/// Which properties of its files the file system of an open file preserves.
struct FileSystemKind {
  /// Whether a file keeps its inode number across mounts.
  let keepsNumbers: Bool
  /// Whether it stores permissions; otherwise all files have the permissions that the mount specifies.
  let keepsPermissions: Bool

  init(_ descriptor: Int32) {
    #if canImport(Darwin)
      var status = statfs()
      // SAFETY: the call fills the local structure.
      guard unsafe fstatfs(descriptor, &status) == 0 else {
        self.init(keepsNumbers: true, keepsPermissions: true)
        return
      }
      let name = withUnsafeBytes(of: &status.f_fstypename) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      self.init(named: name)
    #else
      self.init(number: dunlin_file_system_kind(descriptor))
    #endif
  }

  init(keepsNumbers: Bool, keepsPermissions: Bool) {
    (self.keepsNumbers, self.keepsPermissions) = (keepsNumbers, keepsPermissions)
  }

  /// Identifies the file system by the name that Apple systems use.
  init(named name: String) {
    let isOfOthers = Self.withoutPermissions.contains { $0.isSame(as: name) }
    self.init(keepsNumbers: !isOfOthers && !name.isSame(as: "nfs"), keepsPermissions: !isOfOthers)
  }

  private static let withoutPermissions = [
    "msdos", "exfat", "ntfs", "smbfs", "webdav", "macfuse", "osxfuse",
  ]

  /// Identifies it by Linux's number: FAT, exFAT, NTFS, SMB, FUSE, 9P and NFS are special.
  init(number: UInt32) {
    switch number {
    case 0x6969: self.init(keepsNumbers: false, keepsPermissions: true)
    case 0x4D44, 0x2011_BAB0, 0x5346_544E, 0x7366_746E, 0x517B, 0xFF53_4D42, 0xFE53_4D42, 0x6573_5546,
      0x0102_1997:
      self.init(keepsNumbers: false, keepsPermissions: false)
    default: self.init(keepsNumbers: true, keepsPermissions: true)
    }
  }
}
