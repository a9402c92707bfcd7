import CRDTCore
import Platform

/// How far the last opening of a store had come, kept outside its directory in memory that no copy of a disk includes.
///
/// A store that is just there was not put back since, and no copy of it goes on as that opening: so a restart of the process may.
/// Everybody else begins an opening of their own.
///
/// It is a small file that names the system's start. It is locked while the store is open, and says what is about to be
/// committed, so that it is never behind the store. Some stores share a file: whoever opens second has no witness.
final class OpeningWitness: Sendable {
  /// What a store is, and its older copies are not.
  struct Place {
    let nonce: UInt64
    let sequence: UInt64
    let commitID: UInt64
  }

  private let descriptor: Int32
  private let boot: [UInt8]

  /// So many files there are for all stores of a user.
  private static let fileCount: UInt64 = 4_096
  private static let formatVersion: UInt32 = 1
  private static let key = Array("opening".utf8)

  /// Opens a store's witness; `nil` where another open store has the file, or the system gives none.
  ///
  /// - Parameters:
  ///   - directory: The user's own, on no disk; without it there is no witness.
  ///   - site: The store's.
  init?(in directory: String?, of site: SiteID) {
    guard let directory, let boot = Self.boot else { return nil }
    let path = "\(directory)/\((site.high ^ site.low) % Self.fileCount)"
    // SAFETY: the path is read during the call only.
    let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return nil }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      close(descriptor)
      return nil
    }
    self.descriptor = descriptor
    self.boot = boot
  }

  deinit { close(descriptor) }

  /// The first reading of the opening that had come to `place`; `nil` where none is known to have.
  func opening(at place: Place) -> ClockReading? {
    var bytes = content(place, .zero)
    // SAFETY: the call writes at most as many bytes as there is room.
    let count = unsafe bytes.withUnsafeMutableBytes { unsafe pread(descriptor, $0.baseAddress, $0.count, 0) }
    guard count == bytes.count else { return nil }
    var reader = ByteReader(bytes.rawBytes)
    guard let first: UInt64 = try? reader.readFixed() else { return nil }
    let opening = ClockReading(rawValue: first)
    return bytes == content(place, opening) ? opening : nil
  }

  /// Says where the store is about to be; a failure costs the next opening a name of its own, and nothing else.
  func note(_ place: Place, of opening: ClockReading) {
    let bytes = content(place, opening)
    // SAFETY: the call reads the array during the call only.
    _ = unsafe bytes.withUnsafeBytes { unsafe pwrite(descriptor, $0.baseAddress, $0.count, 0) }
  }

  private func content(_ place: Place, _ opening: ClockReading) -> [UInt8] {
    var out = ByteWriter(capacity: 96)
    for word in [opening.rawValue, place.nonce, place.sequence, place.commitID] { out.writeFixed(word) }
    out.writeFixed(Self.formatVersion)
    out.write(boot)
    out.writeFixed(SmallRecord.check(out.bytes.rawBytes, Self.key.rawBytes))
    return out.bytes
  }

  // MARK: - The system

  /// What tells this start of the system from all others.
  private static let boot: [UInt8]? = {
    var room = [UInt8](repeating: 0, count: 40)
    #if canImport(Darwin)
      var count = room.count
      // SAFETY: the call writes at most `count` bytes.
      guard unsafe sysctlbyname("kern.bootsessionuuid", &room, &count, nil, 0) == 0 else { return nil }
    #else
      // SAFETY: the path is read during the call only.
      let descriptor = unsafe open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else { return nil }
      defer { close(descriptor) }
      // SAFETY: the call writes at most as many bytes as there is room.
      let count = unsafe room.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
    #endif
    return count >= 36 ? Array(room.prefix(36)) : nil
  }()

  /// The user's own directory on no disk, or one that no copy of a disk is made from; `nil` where the system has none.
  static let directory: String? = {
    guard let parent else { return nil }
    let path = "\(parent)/dunlin-\(geteuid())"
    var status = stat()
    // SAFETY: the calls read the path, and the second fills the local structure.
    guard unsafe mkdir(path, 0o700) == 0 || errno == EEXIST, unsafe lstat(path, &status) == 0,
      status.st_mode & S_IFMT == S_IFDIR, status.st_uid == geteuid(), status.st_mode & 0o077 == 0
    else { return nil }
    return path
  }()

  private static var parent: String? {
    #if canImport(Darwin)
      var room = [CChar](repeating: 0, count: Int(MAXPATHLEN))
      // SAFETY: the call writes at most as many bytes as there is room, the zero at the end among them.
      guard unsafe confstr(_CS_DARWIN_USER_TEMP_DIR, &room, room.count) > 0 else { return nil }
      return String(decoding: room.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    #else
      return unsafe access("/dev/shm", W_OK) == 0 ? "/dev/shm" : nil
    #endif
  }
}
