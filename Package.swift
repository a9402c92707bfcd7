// swift-tools-version: 6.2
import PackageDescription

/// What the check builds the modules with, so that tests see into optimised code.
///
/// By itself SwiftPM makes that possible in a debug build only. Nobody else sets the variable, because a package with unsafe flags in its products cannot be depended on.
let testability: [SwiftSetting] =
  Context.environment["DUNLIN_TESTABLE"] == nil ? [] : [.unsafeFlags(["-enable-testing"])]

let settings: [SwiftSetting] =
  [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("InferIsolatedConformances"),
    .enableUpcomingFeature("ImmutableWeakCaptures"),
    .enableExperimentalFeature("Lifetimes"),
    .define("SIMULATION", .when(traits: ["Simulation"])),
  ] + testability

/// Tests are compiled without optimisation and file by file in every build: what they call is optimised in a release build.
let unoptimised: [SwiftSetting] = [
  .unsafeFlags(
    ["-Onone", "-no-whole-module-optimization", "-num-threads", "0", "-enable-batch-mode"],
    .when(configuration: .release))
]

/// One layer of the database; `below` lists every module it may import.
func layer(_ name: String, below: [Target.Dependency] = [], extra: [SwiftSetting] = []) -> Target {
  .target(name: name, dependencies: below, path: "Modules/\(name)", swiftSettings: settings + extra)
}

/// The tests of one layer; `using` lists every module they may import.
func tests(_ name: String, using: [Target.Dependency], resources: [Resource] = []) -> Target {
  .testTarget(
    name: name, dependencies: using, path: "Tests/\(name)", resources: resources,
    swiftSettings: settings + unoptimised)
}

/// A program of an application's kind, for tests.
func program(_ name: String, _ path: String) -> Target {
  .executableTarget(name: name, dependencies: ["DunlinKit"], path: path, swiftSettings: settings)
}

/// What links need that are encrypted: left out without the trait.
let security: [Target.Dependency] = [
  .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["TLS"])),
  .product(name: "NIOTLS", package: "swift-nio", condition: .when(traits: ["TLS"])),
  .product(name: "X509", package: "swift-certificates", condition: .when(traits: ["TLS"])),
  .product(name: "Crypto", package: "swift-crypto", condition: .when(traits: ["TLS"])),
  .product(name: "SwiftASN1", package: "swift-asn1", condition: .when(traits: ["TLS"])),
]

/// What the big peer needs beside the database: left out without the trait.
let server: [Target.Dependency] = [
  .target(name: "BigPeerFiles", condition: .when(traits: ["Server"])),
  .product(name: "Hummingbird", package: "hummingbird", condition: .when(traits: ["Server"])),
  .product(name: "HummingbirdCore", package: "hummingbird", condition: .when(traits: ["Server"])),
  .product(name: "HummingbirdTLS", package: "hummingbird", condition: .when(traits: ["Server"])),
  .product(name: "HTTPTypes", package: "swift-http-types", condition: .when(traits: ["Server"])),
  .product(name: "NIOHTTPTypes", package: "swift-nio-extras", condition: .when(traits: ["Server"])),
  .product(
    name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: .when(traits: ["Server"])),
  .product(name: "Metrics", package: "swift-metrics", condition: .when(traits: ["Server"])),
]

// What is left out of the checks on systems other than Linux: these fork, replace calls of the system, or read `/proc`.
#if os(Linux)
  let linuxChecks: [String] = []
#else
  let linuxChecks = ["Hostile", "Torture"]
#endif

let package = Package(
  name: "dunlin",
  platforms: [.macOS(.v15), .iOS(.v18)],
  products: [
    .library(name: "CRDTCore", targets: ["CRDTCore"]),
    .library(name: "DocStore", targets: ["DocStore"]),
    .library(name: "QueryLanguage", targets: ["QueryLanguage"]),
    .library(name: "QueryEngine", targets: ["QueryEngine"]),
    .library(name: "DunlinFeed", targets: ["DunlinFeed"]),
    .library(name: "SyncProtocol", targets: ["SyncProtocol"]),
    .library(name: "ScopePolicy", targets: ["ScopePolicy"]),
    .library(name: "Links", targets: ["Links"]),
    .library(name: "Transports", targets: ["Transports"]),
    .library(name: "DunlinControl", targets: ["DunlinControl"]),
    .library(name: "LinkTesting", targets: ["LinkTesting"]),
    .library(name: "Facade", targets: ["Facade"]),
    .library(name: "DunlinKit", targets: ["DunlinKit"]),
    .library(name: "DunlinTesting", targets: ["DunlinTesting"]),
    .library(name: "BigPeer", targets: ["BigPeer"]),
    .executable(name: "dunlin", targets: ["dunlin"]),
    .executable(name: "bigpeer", targets: ["BigPeerProgram"]),
  ],
  traits: [
    .default(enabledTraits: ["TLS"]),
    .trait(
      name: "TLS",
      description: "Encrypts links and has peers prove who they are, which all identities but one need."),
    .trait(
      name: "Server", description: "Builds the big peer: a server for many devices and for web back ends.",
      enabledTraits: ["TLS"]),
    .trait(name: "Simulation", description: "Lets the simulator plant defects in a release build."),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
    .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
    .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
    .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    // For the big peer alone: not even resolved without the trait.
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
    .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
    .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.2"),
    .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
  ],
  targets: [
    .systemLibrary(
      name: "CLMDB", path: "Modules/CLMDB", pkgConfig: "lmdb",
      providers: [.apt(["liblmdb-dev"]), .brew(["lmdb"])]),
    .systemLibrary(
      name: "CZlib", path: "Modules/CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    layer("Platform"),
    layer("Failpoints"),
    layer("CRDTCore", below: ["Failpoints"]),
    layer(
      "DocStore", below: ["Platform", "Failpoints", "CRDTCore", "CLMDB"], extra: [.strictMemorySafety()]),
    layer("QueryLanguage", below: ["Platform", "Failpoints", "CRDTCore"]),
    layer("QueryEngine", below: ["Failpoints", "CRDTCore", "DocStore", "QueryLanguage"]),
    layer("DunlinFeed", below: ["CRDTCore", "DocStore", "QueryEngine"]),
    layer("SyncProtocol", below: ["Failpoints", "CRDTCore", "DocStore", "QueryLanguage", "CZlib"]),
    layer("ScopePolicy", below: ["CRDTCore", "DocStore", "QueryLanguage", "SyncProtocol"]),
    layer(
      "Links",
      below: [
        "Platform", "CRDTCore",
        .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOWebSocket", package: "swift-nio"),
      ] + security),
    layer(
      "Transports",
      below: [
        "CRDTCore", "DocStore", "QueryLanguage", "SyncProtocol", "Links",
        .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
        .product(name: "Logging", package: "swift-log"),
      ]),
    layer("LinkTesting", below: ["Platform", "CRDTCore", "Links"]),
    layer(
      "DunlinControl",
      below: [
        "CRDTCore", "DocStore", "QueryEngine", "Transports", .product(name: "Logging", package: "swift-log"),
      ]),
    layer(
      "Facade",
      below: [
        "CRDTCore", "DocStore", "QueryEngine", "DunlinFeed", "SyncProtocol", "ScopePolicy", "Links",
        "Transports", "DunlinControl", .product(name: "Logging", package: "swift-log"),
      ]),
    layer("DunlinKit", below: ["CRDTCore", "DocStore", "Facade", "Links", "SyncProtocol"]),
    // Files that the big peer hands out, as bytes of the program.
    .target(name: "BigPeerFiles", path: "Modules/BigPeerFiles", exclude: ["Files"]),
    layer(
      "BigPeer",
      below: [
        "Platform", "CRDTCore", "DocStore", "QueryEngine", "DunlinFeed", "SyncProtocol", "ScopePolicy",
        "Links",
        "Transports", "DunlinControl", "Facade",
        .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "Logging", package: "swift-log"),
      ] + security + server),
    layer("DunlinTesting", below: ["DunlinKit", .product(name: "Logging", package: "swift-log")]),
    .executableTarget(
      name: "dunlin",
      dependencies: [
        "CRDTCore", "DocStore", "QueryEngine", "DunlinFeed", "SyncProtocol", "ScopePolicy", "Links",
        "Transports", "DunlinControl", "Facade",
        "CZlib", "PeerControl", "RulesTool",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
      ],
      path: "Tools/dunlin", resources: [.copy("Sample")], swiftSettings: settings),
    .executableTarget(
      name: "BigPeerProgram",
      dependencies: [
        "BigPeer", "CRDTCore", "DocStore", "DunlinControl", "Facade", "Links", "PeerControl", "RulesTool",
        "ScopePolicy",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
        .product(
          name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: .when(traits: ["Server"])),
        .product(
          name: "UnixSignals", package: "swift-service-lifecycle", condition: .when(traits: ["Server"])),
      ],
      path: "Tools/bigpeer", exclude: ["Containerfile", "bigpeer.service", "check-api"],
      swiftSettings: settings),
    .target(
      name: "PeerControl",
      dependencies: ["CRDTCore", "DunlinControl", "Links", .product(name: "Logging", package: "swift-log")],
      path: "Tools/PeerControl", swiftSettings: settings),
    // What the commands for access rules of both programs share.
    .target(
      name: "RulesTool", dependencies: ["CRDTCore", "Links", "ScopePolicy"], path: "Tools/RulesTool",
      swiftSettings: settings),
    .target(
      name: "TestKit", dependencies: ["CRDTCore", "Failpoints"], path: "Tests/TestKit",
      swiftSettings: settings),
    tests(
      "SyncProtocolTests",
      using: [
        "CRDTCore", "CRDTModel", "DocStore", "Failpoints", "QueryEngine", "SyncProtocol", "ScopePolicy",
        "CZlib", "TestKit",
      ],
      resources: [.copy("Golden")]),
    tests(
      "ScopePolicyTests",
      using: ["CRDTCore", "DocStore", "QueryLanguage", "SyncProtocol", "ScopePolicy", "TestKit"]),
    tests("TestKitTests", using: ["TestKit"]),
    // A login service, right and wrong.
    .target(
      name: "LoginKit",
      dependencies: [
        "CRDTCore", "Links", "TestKit", .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOPosix", package: "swift-nio"),
      ] + security,
      path: "Tests/LoginKit", swiftSettings: settings),
    tests(
      "TransportsTests",
      using: [
        "Platform", "CRDTCore", "DocStore", "LinkTesting", "Links", "QueryEngine", "SyncProtocol",
        "Transports", "LoginKit", "TestKit",
        .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
        .product(name: "NIOWebSocket", package: "swift-nio"),
        .product(name: "Logging", package: "swift-log"),
      ] + security, resources: [.copy("Golden")]),
    // Programs that are all top level, which the compiler takes for synchronous or asynchronous.
    program("toplevel-waiting", "Tests/TopLevel/Waiting"),
    program("toplevel-awaiting", "Tests/TopLevel/Awaiting"),
    program("meal-orders", "Examples/MealOrders"),
    program("sensor-logger", "Examples/SensorLogger"),
    tests(
      "ToolTests",
      using: [
        "dunlin", "toplevel-waiting", "toplevel-awaiting", "meal-orders", "sensor-logger", "DunlinKit",
        "DocStore", "CRDTCore", "DunlinControl", "Links", "LoginKit", "PeerControl", "TestKit", "Transports",
        .product(name: "Logging", package: "swift-log"),
      ]),
    tests(
      "BigPeerTests",
      using: [
        "Platform", "BigPeer", "BigPeerProgram", "CRDTCore", "DocStore", "DunlinFeed", "Facade", "Links",
        "LoginKit", "PeerControl", "SyncProtocol", "TestKit", "Transports",
        .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"), .product(name: "Logging", package: "swift-log"),
      ] + security + server),
    tests(
      "DocStoreTests", using: ["DocStore", "CRDTCore", "CRDTModel", "TestKit"], resources: [.copy("Golden")]),
    tests(
      "GuideTests",
      using: [
        "CRDTCore", "DocStore", "DunlinKit", "DunlinTesting", "LinkTesting", "QueryEngine", "SyncProtocol",
        "TestKit", "Transports",
        .product(name: "Logging", package: "swift-log"),
      ]),
    tests("DunlinFeedTests", using: ["CRDTCore", "DocStore", "DunlinFeed", "QueryEngine", "TestKit"]),
    tests(
      "FacadeTests",
      using: [
        "Platform", "CRDTCore", "DocStore", "DunlinControl", "DunlinKit", "DunlinTesting", "Facade", "Links",
        "LoginKit", "QueryEngine", "ScopePolicy", "SyncProtocol", "TestKit", "Transports",
        .product(name: "Logging", package: "swift-log"),
      ]),
    .target(
      name: "CRDTModel", dependencies: ["CRDTCore", "TestKit"], path: "Tests/CRDTModel",
      swiftSettings: settings),
    .target(
      name: "SimKit",
      dependencies: [
        "CRDTCore", "CRDTModel", "DocStore", "Failpoints", "QueryEngine", "SyncProtocol", "ScopePolicy",
      ],
      path: "Tests/SimKit", swiftSettings: settings),
    tests(
      "SimulationTests", using: ["CRDTCore", "Failpoints", "SimKit", "SyncProtocol"],
      resources: [.copy("Seeds")]),
    tests(
      "FailpointsTests",
      using: [
        "CRDTCore", "DocStore", "Failpoints", "QueryComparison", "QueryEngine", "SimKit", "SyncProtocol",
      ]),
    tests("CRDTCoreTests", using: ["CRDTCore", "CRDTModel", "TestKit"], resources: [.copy("Golden")]),
    .target(
      name: "QueryComparison",
      dependencies: ["CRDTCore", "DocStore", "Failpoints", "QueryEngine", "TestKit"],
      path: "Tests/QueryComparison", swiftSettings: settings),
    .executableTarget(
      name: "checks",
      dependencies: [
        "BigPeer", "CLMDB", "CRDTCore", "CRDTModel", "CZlib", "DocStore", "Facade", "Failpoints",
        "PeerControl",
        "QueryComparison", "QueryEngine", "SimKit", "SyncProtocol", "TestKit", "Transports",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
        .product(name: "Logging", package: "swift-log"),
      ],
      path: "Tools/checks", exclude: linuxChecks, swiftSettings: settings),
    tests(
      "QueryEngineTests",
      using: ["CRDTCore", "DocStore", "Failpoints", "QueryComparison", "QueryEngine", "TestKit"],
      resources: [.copy("Cases")]),
  ]
)
