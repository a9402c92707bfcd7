import CRDTCore
import Platform

/// The state in which the last opening left a store, kept in memory that no copy of a disk includes.
///
/// A store in exactly this state was not put back since, and no copy of it continues that opening. So a
/// restarted process may continue it. Every other process begins a new opening.
///
/// It is a small file outside the store's directory. It names the system's boot, and is locked while the
/// store is open. It is written before each commit, so that it is never behind the store. Some stores share a
/// file: the one opened second has no witness.
final class OpeningWitness: Sendable {
  /// The state that distinguishes a store from its older copies.
  struct Place {
    let nonce: UInt64
    let sequence: UInt64
    let commitID: UInt64
  }

  private let descriptor: Int32
  private let boot: [UInt8]

  /// The number of files for all stores of a user.
  private static let fileCount: UInt64 = 4_096
  private static let formatVersion: UInt32 = 1
  private static let key = Array("opening".utf8)

  /// Opens a store's witness; `nil` if another open store uses the file, or if the system has none.
  ///
  /// - Parameters:
  ///   - directory: The user's own directory, not on a disk; `nil` for no witness.
  ///   - site: The store's site.
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

  /// The first timestamp of the opening that left the store at `place`; `nil` if none is known.
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

  /// Records the store's next state; after a failure the next opening is a new one, and nothing is lost.
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

  /// The id of this boot of the system.
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

  /// The user's own directory in memory, or one that disk copies omit; `nil` if the system has none.
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
      // SAFETY: the call writes at most as many bytes as there is room, including the final zero.
      guard unsafe confstr(_CS_DARWIN_USER_TEMP_DIR, &room, room.count) > 0 else { return nil }
      return String(decoding: room.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    #else
      return unsafe access("/dev/shm", W_OK) == 0 ? "/dev/shm" : nil
    #endif
  }
}
