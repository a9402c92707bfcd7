import CRDTCore

/// The names that a damaged store's records refer to by numbers, as far as they can be read.
struct RescuedNames {
  /// By number minus one; a collection or field whose name is lost gets a placeholder name.
  private(set) var collections: [String] = []
  private(set) var sites = SiteTable()
  private var tables: [UInt32: RecordTables] = [:]

  init(_ walk: inout TreeWalk, _ trees: [TextKey: PageFile.Tree], _ damage: inout VerificationReport) {
    var names: [UInt32: String] = [:]
    walk.walkSmall("collections", trees, &damage) { key, reader in
      var number = ByteReader(key.rawBytes)
      _ = try reader.readFixed(as: UInt64.self)
      _ = try reader.readFixed(as: UInt64.self)
      names[try number.readFixed()] = try reader.readString()
    }
    var foundSites: [UInt32: SiteID] = [:]
    walk.walkSmall("sites", trees, &damage) { key, reader in
      var ordinal = ByteReader(key.rawBytes)
      foundSites[try ordinal.readFixed()] = try reader.readSite()
    }
    var keys: [UInt32: [UInt16: String]] = [:]
    let damageBefore = damage.damageCount
    walk.walkSmall("keys", trees, &damage) { key, reader in
      var place = ByteReader(key.rawBytes)
      let collection: UInt32 = try place.readFixed()
      keys[collection, default: [:]][try place.readFixed()] = try reader.readString()
    }
    // Numbers are assigned in sequence, so a number above the possible maximum is damage.
    let collectionCount = min(Set(names.keys).union(keys.keys).max() ?? 0, 1 << 16)
    collections = Self.complete((1..<collectionCount + 1).map { names[$0] }, first: 1)
    // A record that refers to a lost site cannot be read, because its writer must not be guessed.
    sites = FoundSites.table(foundSites)
    let areKeysDamaged = damage.damageCount > damageBefore
    for number in Set(keys.keys).union(names.keys) {
      let known = keys[number] ?? [:]
      // If some keys are lost, nobody knows how many there were.
      let count = areKeysDamaged ? 1 << 16 : known.keys.max().map { Int($0) + 1 } ?? 0
      let names = Self.complete((0..<count).map { known[UInt16($0)] })
      tables[number] = RecordTables(keys: KeyTable(names: names), sites: sites)
    }
  }

  func collection(_ number: UInt32) -> String? {
    number >= 1 && number <= collections.count ? collections[Int(number) - 1] : nil
  }

  func tables(of collection: UInt32) -> RecordTables { tables[collection] ?? RecordTables(sites: sites) }

  /// Gives each lost name a placeholder with its number.
  private static func complete(_ names: [String?], first: Int = 0) -> [String] {
    let taken = Set(names.compactMap(\.self))
    return names.enumerated().map { index, name in
      if let name { return name }
      var name = "rescued_\(index + first)"
      while taken.contains(name) { name += "_" }
      return name
    }
  }
}

extension TreeWalk {
  /// Reads a table of the store's own, and reports damage.
  mutating func walkSmall(
    _ name: String, _ trees: [TextKey: PageFile.Tree], _ damage: inout VerificationReport,
    _ body: (_ key: [UInt8], _ value: inout ByteReader) throws -> Void
  ) {
    guard let tree = trees[name] else {
      return damage.note(.page, "The table \(name) is missing")
    }
    var damaged: [PageDamage] = []
    var entries: [String] = []
    walk(tree, as: .entries, damaged: { damaged.append($0) }) { key, value in
      do {
        let value = try SmallRecord.open(Array(value).rawBytes, at: key.rawBytes, table: "")
        var reader = ByteReader(value.rawBytes)
        try body(key, &reader)
      } catch {
        entries.append(EntryChecks.digits(key))
      }
    }
    for page in damaged { damage.note(.page, "\(page.message), in the table \(name)") }
    for key in entries {
      damage.note(.entry, "An entry of the table \(name) is damaged: its key is \(key)")
    }
  }
}
