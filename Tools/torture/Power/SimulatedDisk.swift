import Glibc

/// Files and names as a disk has them while events come in.
struct SimulatedDisk {
  private enum Node { case file(UInt32), directory }
  private enum NameChange {
    case link(String, Node)
    case rename(from: String, to: String, Node)
    case unlink(String)

    var directories: [String] {
      switch self {
      case .link(let path, _), .unlink(let path): [SimulatedDisk.parent(of: path)]
      case .rename(let from, let to, _): [SimulatedDisk.parent(of: from), SimulatedDisk.parent(of: to)]
      }
    }
  }

  /// The directory that was there before everything else.
  let root: String
  private var files: [UInt32: SimulatedFile] = [:]
  private var durableNames: [String: Node] = [:]
  /// Changes of names that no sync of their directory has made durable.
  private var pendingNames: [NameChange] = []
  private var writes = 0

  init(root: String) { self.root = root }

  var unsyncedWrites: Int { files.values.reduce(0) { $0 + $1.unsyncedWrites } }

  /// Takes in an event; one that is cut short has happened but nothing about it is durable.
  mutating func apply(_ event: RecordedEvent, isCutShort: Bool = false) {
    writes += 1
    switch event {
    case .create(let path, let file):
      files[file] = SimulatedFile()
      pendingNames.append(.link(path, .file(file)))
    case .write(let file, let offset, let bytes, let isDurable, _):
      files[file, default: SimulatedFile()].write(
        bytes, at: offset, number: writes, isDurable: isDurable && !isCutShort)
    case .truncate(let file, let length):
      files[file, default: SimulatedFile()].truncate(to: length, number: writes)
    case .sync(let file): if !isCutShort { files[file]?.sync() }
    case .rename(let from, let to):
      if let node = names[from] { pendingNames.append(.rename(from: from, to: to, node)) }
    case .unlink(let path): pendingNames.append(.unlink(path))
    case .makeDirectory(let path): pendingNames.append(.link(path, .directory))
    case .syncDirectory(let path): if !isCutShort { settleNames(in: path) }
    case .map(let file): files[file]?.isMapped = true
    case .note: break
    }
  }

  /// All names as running programs see them.
  private var names: [String: Node] {
    var names = durableNames
    for change in pendingNames { Self.apply(change, to: &names) }
    return names
  }

  private static func apply(_ change: NameChange, to names: inout [String: Node]) {
    switch change {
    case .link(let path, let node): names[path] = node
    case .unlink(let path): names[path] = nil
    case .rename(let from, let to, let node):
      names[from] = nil
      names[to] = node
    }
  }

  private mutating func settleNames(in directory: String) {
    var left: [NameChange] = []
    for change in pendingNames {
      if change.directories.contains(directory) {
        Self.apply(change, to: &durableNames)
      } else {
        left.append(change)
      }
    }
    pendingNames = left
  }

  static func parent(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return String(path[..<slash])
  }

  /// Writes to `target`, in place of the root, what may be found after the power failed.
  func realize(at target: String, _ shim: Shim, _ random: inout SeededGenerator) throws {
    let choice = CrashChoice(&random)
    var names = durableNames
    switch random.int(below: 4) {
    case 0: break
    case 1: for change in pendingNames { Self.apply(change, to: &names) }
    case 2:
      for change in pendingNames.prefix(random.int(below: pendingNames.count + 1)) {
        Self.apply(change, to: &names)
      }
    default: for change in pendingNames where random.oneIn(2) { Self.apply(change, to: &names) }
    }
    try write(names, at: target, shim) { $0.afterPowerLoss(choice, &random) }
  }

  /// Whether the files beneath the root are what the events say: if not, some changes escaped the shim.
  func matchesReality() throws -> Bool {
    for (path, node) in names {
      guard case .file(let number) = node, let file = files[number], !file.isMapped else { continue }
      guard try Files.read(path) == file.whole else { return false }
    }
    return true
  }

  private func write(
    _ names: [String: Node], at target: String, _ shim: Shim, _ content: (SimulatedFile) -> [UInt8]
  ) throws {
    Files.removeTree(target)
    mkdir(target, 0o700)
    shim.forgetAliases()
    // Shorter paths first: a directory comes before what it holds, and what it held goes with it.
    for (path, node) in names.sorted(by: { $0.key < $1.key }) {
      let place = target + path.dropFirst(root.count)
      switch node {
      case .directory: mkdir(place, 0o700)
      case .file(let number):
        guard let file = files[number], access(Self.parent(of: place), F_OK) == 0 else { continue }
        try Files.write(content(file), to: place)
        var status = stat()
        guard stat(place, &status) == 0 else { throw Failure(.harness, "\(place) is not there") }
        shim.alias(UInt64(status.st_ino), for: number)
      }
    }
  }
}
